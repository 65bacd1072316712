import { CfnStack } from "aws-cdk-lib";
import { Table } from "aws-cdk-lib/aws-dynamodb";
import { Asset } from "aws-cdk-lib/aws-s3-assets";
import { Construct } from "constructs";

/** Waymark's packaged template (`sam package`) as a nested stack. */
export class Waymark extends Construct {
  /**
   * @param {{template: string, parameters?: Record<string, string>}} props the packaged template's file, and the template's
   *   parameters, as texts
   */
  constructor(scope, id, { template, parameters }) {
    super(scope, id);
    const file = new Asset(this, "Template", { path: template });
    const stack = new CfnStack(this, "Stack", { templateUrl: file.httpUrl, parameters });
    const output = (name) => stack.getAtt(`Outputs.${name}`).toString();
    /** For `waymark status --stack`. */
    this.stackArn = stack.ref;
    /** Where your code writes records: `waymark.contentTable.grantWriteData(yourFunction)`. */
    this.contentTable = Table.fromTableName(this, "ContentTable", output("ContentTableName"));
    this.output = output;
  }
}
