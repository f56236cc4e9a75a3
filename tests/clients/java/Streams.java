import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * Kafka Streams, at least once: it counts what a topic has by value, over a repartition topic, and
 * stops once the topic NAME-counts has all that it wants. The counts are in a state store, which has
 * a changelog of its own (a compacted topic) where the feature asks for one.
 */
public class Streams {
    static Materialized<String, Long, KeyValueStore<Bytes, byte[]>> counts() {
        return Materialized.as("counts");
    }

    public static void main(String[] words) throws Exception {
        String name = words[1];
        boolean logged = words[2].equals("streams-changelog");
        if (!logged && !words[2].equals("streams")) System.exit(3);
        Properties settings = new Properties();
        settings.put("application.id", name + "-application");
        settings.put("bootstrap.servers", words[0]);
        settings.put("default.key.serde", Serdes.String().getClass());
        settings.put("default.value.serde", Serdes.String().getClass());
        settings.put("commit.interval.ms", "500");
        settings.put("auto.offset.reset", "earliest");
        settings.put("state.dir", System.getProperty("java.io.tmpdir") + "/" + name);
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(name)
            .groupBy((key, value) -> value)
            .count(logged ? counts() : counts().withLoggingDisabled())
            .toStream()
            .to(name + "-counts", Produced.with(Serdes.String(), Serdes.Long()));
        try (Admin admin = Admin.create(settings)) {
            admin.createTopics(java.util.List.of(new org.apache.kafka.clients.admin.NewTopic(
                name + "-counts", java.util.Optional.of(1), java.util.Optional.empty()))).all().get();
        }
        Client.servers = words[0];
        Client.name = name;
        Client.produce(name, Client.VALUES, java.util.Map.of());
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        Throwable[] failed = new Throwable[1];
        streams.setUncaughtExceptionHandler(error -> {
            failed[0] = error;
            return org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
        long end = System.nanoTime() + 2 * Client.PATIENCE.toNanos();
        java.util.Map<String, Long> found = new java.util.HashMap<>();
        Properties reading = new Properties();
        reading.put("bootstrap.servers", words[0]);
        reading.put("group.id", name + "-reader");
        reading.put("auto.offset.reset", "earliest");
        try (var consumer = new org.apache.kafka.clients.consumer.KafkaConsumer<>(reading,
                Serdes.String().deserializer(), Serdes.Long().deserializer())) {
            consumer.subscribe(java.util.List.of(name + "-counts"));
            while (found.size() < Client.VALUES.size() && failed[0] == null && System.nanoTime() < end) {
                for (var each : consumer.poll(Duration.ofMillis(500))) found.put(each.key(), each.value());
            }
        }
        streams.close(Duration.ofSeconds(20));
        if (failed[0] != null || found.size() < Client.VALUES.size()) {
            System.err.println(found.size() + " of " + Client.VALUES.size() + " values were counted: " + failed[0]);
            System.exit(1);
        }
        System.exit(0);
    }
}
