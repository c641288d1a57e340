// What KafkaJS' registry client does with a registry: register, encode, decode, find the latest id.
const { SchemaRegistry, SchemaType } = require("@kafkajs/confluent-schema-registry");

async function main(url) {
  const registry = new SchemaRegistry({ host: url });
  const schema = JSON.stringify({ type: "record", name: "J", namespace: "n", fields: [{ name: "a", type: "int" }] });
  const { id } = await registry.register({ type: SchemaType.AVRO, schema }, { subject: "js-value" });
  const sent = await registry.encode(id, { a: 7 });
  const reader = new SchemaRegistry({ host: url });
  const came = await reader.decode(sent);
  const latest = await reader.getLatestSchemaId("js-value");
  console.log(came.a, latest === id, sent.readInt32BE(1) === id);
}

main(process.argv[2]).catch((error) => {
  console.error(error);
  process.exit(1);
});
