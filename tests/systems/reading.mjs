// What every reader of JavaScript shares: it prints the addresses that it finds from each form, or the name of its error.
export async function read(reader, ...forms) {
  const found = {};
  for (const form of forms) {
    try {
      found[form] = await reader(`${process.argv[2]}/${form.split(" ")[0]}`);
    } catch (error) {
      found[form] = `error: ${error.name}`;
    }
  }
  console.log(JSON.stringify(found));
}
