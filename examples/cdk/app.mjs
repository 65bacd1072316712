import { App, CfnOutput, Stack } from "aws-cdk-lib";
import { Waymark } from "./waymark.mjs";

const app = new App();
const stack = new Stack(app, "WaymarkProduction", { terminationProtection: true });
const waymark = new Waymark(stack, "Waymark", {
  template: app.node.tryGetContext("template") ?? "packaged.yaml",
  parameters: { LogRetentionDays: "90", HttpConcurrency: "50" },
});
new CfnOutput(stack, "WaymarkStack", { value: waymark.stackArn });
new CfnOutput(stack, "ContentTableName", { value: waymark.contentTable.tableName });
new CfnOutput(stack, "DistributionDomain", { value: waymark.output("DistributionDomain") });
