module.exports = { siteUrl: "https://www.lantern.example", generateRobotsTxt: true, exclude: [], outDir: "out" };
