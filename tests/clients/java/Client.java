import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Kafka's own clients. It ends as the programs in Python do (tests/clients/python/program.py). */
public class Client {
    static final Duration PATIENCE = Duration.ofSeconds(60);
    static final List<String> VALUES =
        IntStream.range(0, 9).mapToObj(number -> "value-" + number).collect(Collectors.toList());
    static String servers, name;

    interface Feature { void run() throws Exception; }
    interface OfAdmin { void run(Admin admin) throws Exception; }

    static void expect(Object found, Object wanted, String what) {
        if (!found.equals(wanted)) {
            String told = String.valueOf(found);
            throw new IllegalStateException(what + ": " + told.substring(0, Math.min(200, told.length())));
        }
    }

    static void until(Callable<Boolean> holds, String what) throws Exception {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (!holds.call()) {
            if (System.nanoTime() > end) throw new IllegalStateException("waited in vain: " + what);
            Thread.sleep(100);
        }
    }

    static Properties with(Map<String, String> changes, Map<String, String> defaults) {
        Properties all = new Properties();
        all.put("bootstrap.servers", servers);
        all.putAll(defaults);
        all.putAll(changes);
        return all;
    }

    static KafkaProducer<String, String> producer(Map<String, String> changes) {
        Map<String, String> defaults = Map.of("max.request.size", "16777216", "delivery.timeout.ms", "60000",
            "request.timeout.ms", "30000", "buffer.memory", "67108864");
        return new KafkaProducer<>(with(changes, defaults), new StringSerializer(), new StringSerializer());
    }

    static KafkaConsumer<String, String> consumer(Map<String, String> changes) {
        Map<String, String> defaults = Map.of("group.id", name + "-group", "auto.offset.reset", "earliest",
            "enable.auto.commit", "false", "max.partition.fetch.bytes", "16777216");
        return new KafkaConsumer<>(with(changes, defaults), new StringDeserializer(), new StringDeserializer());
    }

    static void produce(String topic, List<String> values, Map<String, String> changes) throws Exception {
        try (KafkaProducer<String, String> producer = producer(changes)) {
            List<java.util.concurrent.Future<?>> sent = new ArrayList<>();
            for (String value : values) sent.add(producer.send(new ProducerRecord<>(topic, value)));
            for (java.util.concurrent.Future<?> each : sent) each.get(90, TimeUnit.SECONDS);
        }
    }

    static List<String> consumed(KafkaConsumer<String, String> consumer, int count) {
        List<String> found = new ArrayList<>();
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (found.size() < count && System.nanoTime() < end) {
            for (ConsumerRecord<String, String> each : consumer.poll(Duration.ofMillis(500))) found.add(each.value());
        }
        return found;
    }

    static List<String> sorted(Collection<String> values) {
        return values.stream().sorted().collect(Collectors.toList());
    }

    static void readBack(String topic, List<String> values) {
        try (KafkaConsumer<String, String> consumer = consumer(Map.of())) {
            consumer.subscribe(List.of(topic));
            expect(sorted(consumed(consumer, values.size())), sorted(values), "what was read back");
        }
    }

    static Feature roundTrip(Map<String, String> changes) {
        return () -> { produce(name, VALUES, changes); readBack(name, VALUES); };
    }

    static Feature large(int size) {
        char[] letters = new char[size];
        Arrays.fill(letters, 'v');
        List<String> values = List.of(new String(letters));
        return () -> { produce(name, values, Map.of()); readBack(name, values); };
    }

    static Feature withAdmin(OfAdmin feature) {
        return () -> { try (Admin admin = Admin.create(with(Map.of(), Map.of()))) { feature.run(admin); } };
    }

    static void share(int[] sizes, List<KafkaConsumer<String, String>> members) throws Exception {
        until(() -> {
            for (KafkaConsumer<String, String> each : members) each.poll(Duration.ofMillis(100));
            int[] found = members.stream().mapToInt(each -> each.assignment().size()).sorted().toArray();
            return Arrays.equals(found, sizes);
        }, "shares are " + Arrays.toString(sizes));
    }

    static KafkaConsumer<String, String> member(Map<String, String> changes) {
        KafkaConsumer<String, String> made = consumer(changes);
        made.subscribe(List.of(name));
        return made;
    }

    static void group() throws Exception {
        KafkaConsumer<String, String> first = member(Map.of()), second = member(Map.of());
        share(new int[] {1, 2}, List.of(first, second));
        second.close();
        share(new int[] {3}, List.of(first));
        first.close();
    }

    static void staticMember() throws Exception {
        KafkaConsumer<String, String> first = member(Map.of("group.instance.id", "a"));
        KafkaConsumer<String, String> second = member(Map.of("group.instance.id", "b"));
        share(new int[] {1, 2}, List.of(first, second));
        Set<TopicPartition> before = new HashSet<>(second.assignment());
        int generation = first.groupMetadata().generationId();
        second.close();
        KafkaConsumer<String, String> again = member(Map.of("group.instance.id", "b"));
        share(new int[] {1, 2}, List.of(first, again));
        expect(new HashSet<>(again.assignment()), before, "its partitions");
        expect(first.groupMetadata().generationId(), generation, "the generation");
        first.close();
        again.close();
    }

    static void offsets() throws Exception {
        produce(name, VALUES, Map.of());
        List<String> found = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer = member(Map.of("max.poll.records", "4"))) {
            found.addAll(consumed(consumer, 1));
            consumer.commitSync();
        }
        try (KafkaConsumer<String, String> consumer = member(Map.of())) {
            found.addAll(consumed(consumer, VALUES.size() - found.size()));
        }
        expect(sorted(found), sorted(VALUES), "what both read");
    }

    static Feature seekByTime(Map<String, String> changes) {
        Map<String, String> all = new HashMap<>(changes);
        all.put("linger.ms", "200");
        return () -> {
            try (KafkaProducer<String, String> producer = producer(all)) {
                for (int number = 0; number < 10; number++) {
                    producer.send(new ProducerRecord<>(name, 0, 1000L + number, null, "v"));
                }
            }
            try (KafkaConsumer<String, String> consumer = consumer(Map.of())) {
                TopicPartition partition = new TopicPartition(name, 0);
                expect(consumer.offsetsForTimes(Map.of(partition, 1006L)).get(partition).offset(), 6L, "the offset of a time");
            }
        };
    }

    static void createTopic(Admin admin) throws Exception {
        String topic = name + "-made";
        admin.createTopics(List.of(new NewTopic(topic, Optional.of(2), Optional.empty()))).all().get();
        produce(topic, VALUES, Map.of());
        admin.deleteTopics(List.of(topic)).all().get();
        until(() -> !admin.listTopics().names().get().contains(topic), "it is gone");
    }

    static void autoCreate() throws Exception {
        produce(name + "-unasked", VALUES, Map.of());
        readBack(name + "-unasked", VALUES);
    }

    static boolean isListed(Admin admin) throws Exception {
        return admin.listConsumerGroups().all().get().stream().anyMatch(each -> each.groupId().equals(name + "-group"));
    }

    static void groups(Admin admin) throws Exception {
        offsets();
        String group = name + "-group";
        expect(isListed(admin), true, "it is listed");
        expect(admin.describeConsumerGroups(List.of(group)).all().get().get(group).members().size(), 0, "its members");
        Map<TopicPartition, ?> known = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
        expect(known.isEmpty(), false, "it has no offsets");
        admin.deleteConsumerGroupOffsets(group, Set.of(known.keySet().iterator().next())).all().get();
        admin.deleteConsumerGroups(List.of(group)).all().get();
        expect(isListed(admin), false, "it is listed");
    }

    static void deleteRecords(Admin admin) throws Exception {
        produce(name, VALUES, Map.of());
        Map<TopicPartition, OffsetSpec> ends = new HashMap<>(), starts = new HashMap<>();
        for (int each = 0; each < 3; each++) {
            ends.put(new TopicPartition(name, each), OffsetSpec.latest());
            starts.put(new TopicPartition(name, each), OffsetSpec.earliest());
        }
        Map<TopicPartition, RecordsToDelete> below = new HashMap<>();
        admin.listOffsets(ends).all().get().forEach((at, end) -> below.put(at, RecordsToDelete.beforeOffset(end.offset())));
        admin.deleteRecords(below).all().get();
        admin.listOffsets(starts).all().get().forEach((at, start) ->
            expect(start.offset(), below.get(at).beforeOffset(), "where a log begins"));
    }

    static void configs(Admin admin) throws Exception {
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, name);
        AlterConfigOp set = new AlterConfigOp(new ConfigEntry("retention.ms", "654321"), AlterConfigOp.OpType.SET);
        admin.incrementalAlterConfigs(Map.of(topic, List.of(set))).all().get();
        until(() -> admin.describeConfigs(List.of(topic)).all().get().get(topic).get("retention.ms").value().equals("654321"),
            "it is configured so");
    }

    static void logDirs(Admin admin) throws Exception {
        List<Integer> brokers = admin.describeCluster().nodes().get().stream().map(node -> node.id()).collect(Collectors.toList());
        expect(admin.describeLogDirs(brokers).allDescriptions().get().keySet(), new HashSet<>(brokers), "who told");
    }

    static void transactions() {
        try (KafkaProducer<String, String> producer = producer(Map.of("transactional.id", name, "max.block.ms", "60000"))) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(name, "value"));
            producer.commitTransaction();
        }
    }

    public static void main(String[] words) {
        servers = words[0];
        name = words[1];
        Map<String, Feature> features = new HashMap<>();
        features.put("metadata", withAdmin(admin ->
            expect(admin.describeTopics(List.of(name)).allTopicNames().get().get(name).partitions().size(), 3, "partitions")));
        features.put("create-topic", withAdmin(Client::createTopic));
        features.put("auto-create", Client::autoCreate);
        for (String acks : List.of("0", "1", "all")) {
            features.put("acks-" + acks, roundTrip(Map.of("acks", acks, "enable.idempotence", "false")));
        }
        for (String codec : List.of("gzip", "snappy", "lz4", "zstd")) {
            features.put(codec, roundTrip(Map.of("compression.type", codec)));
        }
        features.put("idempotent", roundTrip(Map.of("enable.idempotence", "true")));
        features.put("message-3mb", large(3_000_000));
        features.put("message-10mb", large(10_000_000));
        features.put("group", Client::group);
        features.put("static-member", Client::staticMember);
        features.put("offsets", Client::offsets);
        features.put("seek-by-time", seekByTime(Map.of()));
        features.put("seek-in-gzip", seekByTime(Map.of("compression.type", "gzip")));
        features.put("seek-in-zstd", seekByTime(Map.of("compression.type", "zstd")));
        features.put("groups", withAdmin(Client::groups));
        features.put("delete-records", withAdmin(Client::deleteRecords));
        features.put("configs", withAdmin(Client::configs));
        features.put("log-dirs", withAdmin(Client::logDirs));
        features.put("transactions", Client::transactions);
        Feature feature = features.get(words[2]);
        if (feature == null) System.exit(3);
        try {
            feature.run();
        } catch (Exception error) {
            System.err.println(String.valueOf(error).replace('\n', ' '));
            System.exit(1);
        }
        System.exit(0);
    }
}
