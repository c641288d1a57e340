// What Confluent's Java client and Avro serializers do with a registry. Run as a single source file.
import io.confluent.kafka.schemaregistry.avro.AvroSchema;
import io.confluent.kafka.schemaregistry.client.CachedSchemaRegistryClient;
import io.confluent.kafka.serializers.KafkaAvroDeserializer;
import io.confluent.kafka.serializers.KafkaAvroSerializer;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;

public class RegistryClient {
  public static void main(String[] args) throws Exception {
    String text = "{\"type\":\"record\",\"name\":\"J\",\"fields\":[{\"name\":\"a\",\"type\":\"int\"}]}";
    CachedSchemaRegistryClient client = new CachedSchemaRegistryClient(args[0], 100);
    int id = client.register("java-value", new AvroSchema(text));
    boolean sameText = client.getSchemaById(id).canonicalString().equals(new AvroSchema(text).canonicalString());
    int latest = client.getLatestSchemaMetadata("java-value").getId();
    boolean fits = client.testCompatibility(
        "java-value", new AvroSchema(text.replace("\"a\"", "\"b\"")));
    String level = client.updateCompatibility("java-value", "FULL");

    Map<String, Object> settings = Map.of("schema.registry.url", args[0]);
    KafkaAvroSerializer serializer = new KafkaAvroSerializer();
    serializer.configure(settings, false);
    KafkaAvroDeserializer deserializer = new KafkaAvroDeserializer();
    deserializer.configure(settings, false);
    GenericRecord record = new GenericData.Record(new Schema.Parser().parse(text));
    record.put("a", 7);
    byte[] sent = serializer.serialize("java", record);
    GenericRecord came = (GenericRecord) deserializer.deserialize("java", sent);
    System.out.println(sameText + " " + (latest == id) + " " + fits + " " + level + " " + came.get("a"));
    System.exit(0);
  }
}
