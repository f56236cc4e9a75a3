// franz-go.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"clients/try"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), try.Patience)
}

func client(t try.Try, options ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(t.Servers...),
		kgo.ProducerBatchMaxBytes(try.Largest),
		kgo.FetchMaxBytes(try.Largest),
	}, options...)...)
}

func consumer(t try.Try, topic string, options ...kgo.Opt) (*kgo.Client, error) {
	return client(t, append([]kgo.Opt{
		kgo.ConsumerGroup(t.Group()),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
	}, options...)...)
}

func produce(t try.Try, topic string, values []string, options ...kgo.Opt) error {
	producer, err := client(t, options...)
	if err != nil {
		return err
	}
	defer producer.Close()
	ctx, cancel := within()
	defer cancel()
	var records []*kgo.Record
	for _, value := range values {
		records = append(records, &kgo.Record{Topic: topic, Value: []byte(value)})
	}
	return producer.ProduceSync(ctx, records...).FirstErr()
}

func consumed(from *kgo.Client, count int) ([]string, error) {
	ctx, cancel := within()
	defer cancel()
	var found []string
	for len(found) < count {
		fetches := from.PollRecords(ctx, count-len(found))
		if err := fetches.Err(); err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
			return nil, err
		}
		fetches.EachRecord(func(record *kgo.Record) { found = append(found, string(record.Value)) })
	}
	return found, nil
}

func readBack(t try.Try, topic string, values []string) error {
	from, err := consumer(t, topic)
	if err != nil {
		return err
	}
	defer from.Close()
	found, err := consumed(from, len(values))
	if err != nil {
		return err
	}
	return try.Expect(found, values)
}

func roundTrip(options ...kgo.Opt) try.Feature {
	return func(t try.Try) error {
		if err := produce(t, t.Name, try.Values(), options...); err != nil {
			return err
		}
		return readBack(t, t.Name, try.Values())
	}
}

func large(size int) try.Feature {
	return func(t try.Try) error {
		values := []string{string(make([]byte, size))}
		if err := produce(t, t.Name, values); err != nil {
			return err
		}
		return readBack(t, t.Name, values)
	}
}

func withAdmin(feature func(context.Context, try.Try, *kadm.Client) error) try.Feature {
	return func(t try.Try) error {
		made, err := client(t)
		if err != nil {
			return err
		}
		defer made.Close()
		ctx, cancel := within()
		defer cancel()
		return feature(ctx, t, kadm.NewClient(made))
	}
}

func metadata(ctx context.Context, t try.Try, admin *kadm.Client) error {
	topics, err := admin.ListTopics(ctx, t.Name)
	if err == nil && len(topics[t.Name].Partitions) != 3 {
		err = fmt.Errorf("%d partitions", len(topics[t.Name].Partitions))
	}
	return err
}

func createTopic(ctx context.Context, t try.Try, admin *kadm.Client) error {
	name := t.Name + "-made"
	if _, err := admin.CreateTopic(ctx, 2, -1, nil, name); err != nil {
		return err
	}
	if err := produce(t, name, try.Values()); err != nil {
		return err
	}
	if _, err := admin.DeleteTopic(ctx, name); err != nil {
		return err
	}
	return try.Until("it is gone", func() (bool, error) {
		topics, err := admin.ListTopics(ctx)
		return !topics.Has(name), err
	})
}

func autoCreate(t try.Try) error {
	name := t.Name + "-unasked"
	if err := produce(t, name, try.Values(), kgo.AllowAutoTopicCreation()); err != nil {
		return err
	}
	return readBack(t, name, try.Values())
}

func sharing(t try.Try, names ...string) error {
	members := make([]*kgo.Client, len(names))
	join := func(at int) error {
		var options []kgo.Opt
		if names[at] != "" {
			options = append(options, kgo.InstanceID(names[at]))
		}
		made, err := consumer(t, t.Name, append(options, kgo.Balancers(kgo.RangeBalancer()))...)
		if err == nil {
			members[at] = made
		}
		return err
	}
	owned := func(at int) int {
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		members[at].PollFetches(ctx)
		adminOf := kadm.NewClient(members[at])
		described, err := adminOf.DescribeGroups(context.Background(), t.Group())
		if err != nil {
			return -1
		}
		count := 0
		id, _ := members[at].GroupMetadata()
		for _, member := range described[t.Group()].Members {
			if assigned, is := member.Assigned.AsConsumer(); is && member.MemberID == id {
				for _, topic := range assigned.Topics {
					count += len(topic.Partitions)
				}
			}
		}
		return count
	}
	for at := range names {
		if err := join(at); err != nil {
			return err
		}
	}
	both := func() (bool, error) { return owned(0)+owned(1) == 3 && owned(0) > 0 && owned(1) > 0, nil }
	if err := try.Until("two members share three partitions", both); err != nil {
		return err
	}
	before := owned(1)
	if names[1] == "" {
		members[1].Close()
		defer members[0].Close()
		return try.Until("the one that stays has all", func() (bool, error) { return owned(0) == 3, nil })
	}
	_, generation := members[0].GroupMetadata()
	members[1].CloseAllowingRebalance()
	if err := join(1); err != nil {
		return err
	}
	defer members[0].Close()
	defer members[1].Close()
	if err := try.Until("it is back", both); err != nil {
		return err
	}
	_, now := members[0].GroupMetadata()
	if now != generation || owned(1) != before {
		return fmt.Errorf("generation %d became %d", generation, now)
	}
	return nil
}

func offsets(t try.Try) error {
	if err := produce(t, t.Name, try.Values()); err != nil {
		return err
	}
	var found []string
	for _, count := range []int{4, 5} {
		from, err := consumer(t, t.Name)
		if err != nil {
			return err
		}
		some, err := consumed(from, count)
		if err == nil {
			err = from.CommitUncommittedOffsets(context.Background())
		}
		from.Close()
		if err != nil {
			return err
		}
		found = append(found, some...)
	}
	return try.Expect(found, try.Values())
}

func seekByTime(options ...kgo.Opt) try.Feature {
	return withAdmin(func(ctx context.Context, t try.Try, admin *kadm.Client) error {
		producer, err := client(t, append(options, kgo.ProducerLinger(100*time.Millisecond), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
		if err != nil {
			return err
		}
		defer producer.Close()
		var records []*kgo.Record
		for number := 0; number < 10; number++ {
			records = append(records, &kgo.Record{Topic: t.Name, Partition: 0, Value: []byte("v"), Timestamp: time.UnixMilli(int64(1000 + number))})
		}
		if err := producer.ProduceSync(ctx, records...).FirstErr(); err != nil {
			return err
		}
		listed, err := admin.ListOffsetsAfterMilli(ctx, 1006, t.Name)
		if err != nil {
			return err
		}
		if found, _ := listed.Lookup(t.Name, 0); found.Offset != 6 {
			return fmt.Errorf("offset %d of a time, not 6", found.Offset)
		}
		return nil
	})
}

func groups(ctx context.Context, t try.Try, admin *kadm.Client) error {
	if err := offsets(t); err != nil {
		return err
	}
	listed, err := admin.ListGroups(ctx)
	if _, is := listed[t.Group()]; err != nil || !is {
		return fmt.Errorf("it is not listed (%v)", err)
	}
	if _, err := admin.DescribeGroups(ctx, t.Group()); err != nil {
		return err
	}
	if fetched, err := admin.FetchOffsets(ctx, t.Group()); err != nil || len(fetched) == 0 {
		return fmt.Errorf("it has no offsets (%v)", err)
	}
	if _, err := admin.DeleteGroup(ctx, t.Group()); err != nil {
		return err
	}
	listed, err = admin.ListGroups(ctx)
	if _, is := listed[t.Group()]; err != nil || is {
		return fmt.Errorf("it is still listed (%v)", err)
	}
	return nil
}

func deleteRecords(ctx context.Context, t try.Try, admin *kadm.Client) error {
	if err := produce(t, t.Name, try.Values()); err != nil {
		return err
	}
	ends, err := admin.ListEndOffsets(ctx, t.Name)
	if err != nil {
		return err
	}
	if _, err := admin.DeleteRecords(ctx, ends.Offsets()); err != nil {
		return err
	}
	starts, err := admin.ListStartOffsets(ctx, t.Name)
	if err != nil {
		return err
	}
	var wrong error
	ends.Each(func(end kadm.ListedOffset) {
		if start, _ := starts.Lookup(end.Topic, end.Partition); start.Offset != end.Offset {
			wrong = fmt.Errorf("partition %d begins at %d, not %d", end.Partition, start.Offset, end.Offset)
		}
	})
	return wrong
}

func configs(ctx context.Context, t try.Try, admin *kadm.Client) error {
	value := "654321"
	if _, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: "retention.ms", Value: &value}}, t.Name); err != nil {
		return err
	}
	return try.Until("it is configured so", func() (bool, error) {
		found, err := admin.DescribeTopicConfigs(ctx, t.Name)
		if err != nil {
			return false, err
		}
		for _, each := range found[0].Configs {
			if each.Key == "retention.ms" {
				return each.MaybeValue() == value, nil
			}
		}
		return false, nil
	})
}

func oldConfigs(ctx context.Context, t try.Try, admin *kadm.Client) error {
	value := "654321"
	answers, err := admin.AlterTopicConfigsState(ctx, []kadm.AlterConfig{{Name: "retention.ms", Value: &value}}, t.Name)
	if err == nil {
		err = answers[0].Err
	}
	return err
}

func logDirs(ctx context.Context, t try.Try, admin *kadm.Client) error {
	described, err := admin.DescribeAllLogDirs(ctx, nil)
	if err == nil && len(described) == 0 {
		err = errors.New("no directories")
	}
	described.Each(func(dir kadm.DescribedLogDir) {
		if dir.Err != nil {
			err = dir.Err
		}
	})
	return err
}

func transactions(t try.Try) error {
	producer, err := client(t, kgo.TransactionalID(t.Name))
	if err != nil {
		return err
	}
	defer producer.Close()
	if err := producer.BeginTransaction(); err != nil {
		return err
	}
	ctx, cancel := within()
	defer cancel()
	if err := producer.ProduceSync(ctx, &kgo.Record{Topic: t.Name, Value: []byte("v")}).FirstErr(); err != nil {
		return err
	}
	return producer.EndTransaction(ctx, kgo.TryCommit)
}

func main() {
	noIdempotence := kgo.DisableIdempotentWrite()
	try.Run(map[string]try.Feature{
		"metadata":       withAdmin(metadata),
		"create-topic":   withAdmin(createTopic),
		"auto-create":    autoCreate,
		"acks-0":         roundTrip(kgo.RequiredAcks(kgo.NoAck()), noIdempotence),
		"acks-1":         roundTrip(kgo.RequiredAcks(kgo.LeaderAck()), noIdempotence),
		"acks-all":       roundTrip(noIdempotence),
		"gzip":           roundTrip(kgo.ProducerBatchCompression(kgo.GzipCompression())),
		"snappy":         roundTrip(kgo.ProducerBatchCompression(kgo.SnappyCompression())),
		"lz4":            roundTrip(kgo.ProducerBatchCompression(kgo.Lz4Compression())),
		"zstd":           roundTrip(kgo.ProducerBatchCompression(kgo.ZstdCompression())),
		"idempotent":     roundTrip(),
		"message-3mb":    large(3_000_000),
		"message-10mb":   large(10_000_000),
		"group":          func(t try.Try) error { return sharing(t, "", "") },
		"static-member":  func(t try.Try) error { return sharing(t, "a", "b") },
		"offsets":        offsets,
		"seek-by-time":   seekByTime(),
		"seek-in-gzip":   seekByTime(kgo.ProducerBatchCompression(kgo.GzipCompression())),
		"seek-in-zstd":   seekByTime(kgo.ProducerBatchCompression(kgo.ZstdCompression())),
		"groups":         withAdmin(groups),
		"delete-records": withAdmin(deleteRecords),
		"configs":        withAdmin(configs),
		"configs-of-old": withAdmin(oldConfigs),
		"log-dirs":       withAdmin(logDirs),
		"transactions":   transactions,
	})
}
