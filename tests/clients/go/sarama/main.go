// sarama.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"clients/try"

	"github.com/IBM/sarama"
)

func config() *sarama.Config {
	made := sarama.NewConfig()
	made.Version = sarama.V3_6_0_0
	made.Producer.Return.Successes = true
	made.Producer.RequiredAcks = sarama.WaitForAll
	made.Producer.MaxMessageBytes = try.Largest
	made.Producer.Retry.Max = 20
	made.Metadata.Retry.Max = 20
	made.Consumer.Offsets.Initial = sarama.OffsetOldest
	made.Consumer.Offsets.AutoCommit.Enable = false
	made.Consumer.Fetch.Default = try.Largest
	return made
}

func produce(t try.Try, topic string, values []string, with *sarama.Config) error {
	producer, err := sarama.NewSyncProducer(t.Servers, with)
	if err != nil {
		return err
	}
	defer producer.Close()
	var messages []*sarama.ProducerMessage
	for _, value := range values {
		messages = append(messages, &sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(value)})
	}
	err = producer.SendMessages(messages)
	var all sarama.ProducerErrors
	if errors.As(err, &all) {
		return all[0]
	}
	return err
}

// handler is a member of a group: it takes `wanted` values, and marks them.
type handler struct {
	values chan string
	shares chan int
}

func (h handler) Setup(session sarama.ConsumerGroupSession) error {
	count := 0
	for _, partitions := range session.Claims() {
		count += len(partitions)
	}
	select {
	case h.shares <- count:
	default:
	}
	return nil
}

func (h handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (h handler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, is := <-claim.Messages():
			if !is {
				return nil
			}
			select {
			case h.values <- string(message.Value):
				session.MarkMessage(message, "")
				session.Commit()
			case <-session.Context().Done():
				return nil
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

type member struct {
	group  sarama.ConsumerGroup
	cancel context.CancelFunc
	handler
}

func join(t try.Try, topic string, with *sarama.Config) (*member, error) {
	group, err := sarama.NewConsumerGroup(t.Servers, t.Group(), with)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	made := &member{group, cancel, handler{make(chan string), make(chan int, 100)}}
	go func() {
		for ctx.Err() == nil {
			if group.Consume(ctx, []string{topic}, made.handler) != nil {
				time.Sleep(100 * time.Millisecond)
			}
		}
	}()
	return made, nil
}

func (m *member) leave() {
	m.cancel()
	m.group.Close()
}

func (m *member) take(count int) ([]string, error) {
	var found []string
	deadline := time.After(try.Patience)
	for len(found) < count {
		select {
		case value := <-m.values:
			found = append(found, value)
		case <-deadline:
			return found, fmt.Errorf("%d of %d values in %v", len(found), count, try.Patience)
		}
	}
	return found, nil
}

// part waits for one or two of three partitions: which of two members has more is left to chance.
func (m *member) part() error {
	return m.until(func(found int) bool { return found == 1 || found == 2 }, "a part")
}

func (m *member) whole() error {
	return m.until(func(found int) bool { return found == 3 }, "all")
}

func (m *member) until(holds func(int) bool, what string) error {
	deadline := time.After(try.Patience)
	for {
		select {
		case found := <-m.shares:
			if holds(found) {
				return nil
			}
		case <-deadline:
			return fmt.Errorf("it never had %s of the partitions", what)
		}
	}
}

func readBack(t try.Try, topic string, values []string) error {
	from, err := join(t, topic, config())
	if err != nil {
		return err
	}
	defer from.leave()
	found, err := from.take(len(values))
	if err != nil {
		return err
	}
	return try.Expect(found, values)
}

func roundTrip(change func(*sarama.Config)) try.Feature {
	return func(t try.Try) error {
		with := config()
		change(with)
		if err := produce(t, t.Name, try.Values(), with); err != nil {
			return err
		}
		return readBack(t, t.Name, try.Values())
	}
}

func compressed(codec sarama.CompressionCodec) try.Feature {
	return roundTrip(func(with *sarama.Config) { with.Producer.Compression = codec })
}

func acks(wanted sarama.RequiredAcks) try.Feature {
	return roundTrip(func(with *sarama.Config) { with.Producer.RequiredAcks = wanted })
}

func idempotent(with *sarama.Config) {
	with.Producer.Idempotent, with.Net.MaxOpenRequests = true, 1
}

func large(size int) try.Feature {
	return func(t try.Try) error {
		values := []string{string(make([]byte, size))}
		if err := produce(t, t.Name, values, config()); err != nil {
			return err
		}
		return readBack(t, t.Name, values)
	}
}

func withAdmin(feature func(try.Try, sarama.ClusterAdmin) error) try.Feature {
	return func(t try.Try) error {
		admin, err := sarama.NewClusterAdmin(t.Servers, config())
		if err != nil {
			return err
		}
		defer admin.Close()
		return feature(t, admin)
	}
}

func metadata(t try.Try, admin sarama.ClusterAdmin) error {
	found, err := admin.DescribeTopics([]string{t.Name})
	if err == nil && len(found[0].Partitions) != 3 {
		err = fmt.Errorf("%d partitions", len(found[0].Partitions))
	}
	return err
}

func createTopic(t try.Try, admin sarama.ClusterAdmin) error {
	name := t.Name + "-made"
	if err := admin.CreateTopic(name, &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: -1}, false); err != nil {
		return err
	}
	if err := produce(t, name, try.Values(), config()); err != nil {
		return err
	}
	return admin.DeleteTopic(name)
}

func autoCreate(t try.Try) error {
	name := t.Name + "-unasked"
	if err := produce(t, name, try.Values(), config()); err != nil {
		return err
	}
	return readBack(t, name, try.Values())
}

func group(t try.Try) error {
	first, err := join(t, t.Name, config())
	if err != nil {
		return err
	}
	defer first.leave()
	if err := first.whole(); err != nil {
		return err
	}
	second, err := join(t, t.Name, config())
	if err != nil {
		return err
	}
	if err := second.part(); err != nil {
		return err
	}
	if err := first.part(); err != nil {
		return err
	}
	second.leave()
	return first.whole()
}

func static(t try.Try) error {
	named := func(name string) *sarama.Config {
		with := config()
		with.Consumer.Group.InstanceId = name
		return with
	}
	first, err := join(t, t.Name, named("a"))
	if err != nil {
		return err
	}
	defer first.leave()
	if err := first.whole(); err != nil {
		return err
	}
	second, err := join(t, t.Name, named("b"))
	if err != nil {
		return err
	}
	if err := second.part(); err != nil {
		return err
	}
	if err := first.part(); err != nil {
		return err
	}
	second.leave()
	again, err := join(t, t.Name, named("b"))
	if err != nil {
		return err
	}
	defer again.leave()
	if err := again.part(); err != nil {
		return err
	}
	if len(first.shares) > 0 {
		return fmt.Errorf("the other one was in %d more generations", len(first.shares))
	}
	return nil
}

func offsets(t try.Try) error {
	if err := produce(t, t.Name, try.Values(), config()); err != nil {
		return err
	}
	var found []string
	for _, count := range []int{4, 5} {
		from, err := join(t, t.Name, config())
		if err != nil {
			return err
		}
		some, err := from.take(count)
		time.Sleep(time.Second) // what was taken last is committed by another goroutine
		from.leave()
		if err != nil {
			return err
		}
		found = append(found, some...)
	}
	return try.Expect(found, try.Values())
}

func seekByTime(codec sarama.CompressionCodec) try.Feature {
	return func(t try.Try) error {
		with := config()
		with.Producer.Compression = codec
		with.Producer.Partitioner = sarama.NewManualPartitioner
		with.Producer.Flush.Frequency = 200 * time.Millisecond
		producer, err := sarama.NewSyncProducer(t.Servers, with)
		if err != nil {
			return err
		}
		var messages []*sarama.ProducerMessage
		for number := 0; number < 10; number++ {
			messages = append(messages, &sarama.ProducerMessage{Topic: t.Name, Partition: 0, Value: sarama.StringEncoder("v"), Timestamp: time.UnixMilli(int64(1000 + number))})
		}
		if err := producer.SendMessages(messages); err != nil {
			return err
		}
		producer.Close()
		client, err := sarama.NewClient(t.Servers, config())
		if err != nil {
			return err
		}
		defer client.Close()
		found, err := client.GetOffset(t.Name, 0, 1006)
		if err == nil && found != 6 {
			err = fmt.Errorf("offset %d of a time, not 6", found)
		}
		return err
	}
}

func groups(t try.Try, admin sarama.ClusterAdmin) error {
	if err := offsets(t); err != nil {
		return err
	}
	listed, err := admin.ListConsumerGroups()
	if _, is := listed[t.Group()]; err != nil || !is {
		return fmt.Errorf("it is not listed (%v)", err)
	}
	if _, err := admin.DescribeConsumerGroups([]string{t.Group()}); err != nil {
		return err
	}
	if err := admin.DeleteConsumerGroup(t.Group()); err != nil {
		return err
	}
	listed, err = admin.ListConsumerGroups()
	if _, is := listed[t.Group()]; err != nil || is {
		return fmt.Errorf("it is still listed (%v)", err)
	}
	return nil
}

func deleteRecords(t try.Try, admin sarama.ClusterAdmin) error {
	with := config()
	with.Producer.Partitioner = sarama.NewManualPartitioner
	if err := produce(t, t.Name, try.Values(), with); err != nil {
		return err
	}
	return admin.DeleteRecords(t.Name, map[int32]int64{0: int64(len(try.Values()))})
}

func configs(t try.Try, admin sarama.ClusterAdmin) error {
	value := "654321"
	entries := map[string]sarama.IncrementalAlterConfigsEntry{"retention.ms": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value}}
	if err := admin.IncrementalAlterConfig(sarama.TopicResource, t.Name, entries, false); err != nil {
		return err
	}
	return described(t, admin, value)
}

func oldConfigs(t try.Try, admin sarama.ClusterAdmin) error {
	value := "654321"
	if err := admin.AlterConfig(sarama.TopicResource, t.Name, map[string]*string{"retention.ms": &value}, false); err != nil {
		return err
	}
	return described(t, admin, value)
}

func described(t try.Try, admin sarama.ClusterAdmin, value string) error {
	return try.Until("it is configured so", func() (bool, error) {
		found, err := admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: t.Name})
		for _, each := range found {
			if each.Name == "retention.ms" && each.Value == value {
				return true, nil
			}
		}
		return false, err
	})
}

func logDirs(t try.Try, admin sarama.ClusterAdmin) error {
	brokers, _, err := admin.DescribeCluster()
	if err != nil {
		return err
	}
	var ids []int32
	for _, each := range brokers {
		ids = append(ids, each.ID())
	}
	found, err := admin.DescribeLogDirs(ids)
	if err == nil && len(found) != len(ids) {
		err = fmt.Errorf("%d brokers told of their directories", len(found))
	}
	return err
}

func transactions(t try.Try) error {
	with := config()
	idempotent(with)
	with.Producer.Transaction.ID = t.Name
	producer, err := sarama.NewSyncProducer(t.Servers, with)
	if err != nil {
		return err
	}
	defer producer.Close()
	if err := producer.BeginTxn(); err != nil {
		return err
	}
	if _, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: t.Name, Value: sarama.StringEncoder("v")}); err != nil {
		return err
	}
	return producer.CommitTxn()
}

func main() {
	try.Run(map[string]try.Feature{
		"metadata":       withAdmin(metadata),
		"create-topic":   withAdmin(createTopic),
		"auto-create":    autoCreate,
		"acks-0":         acks(sarama.NoResponse),
		"acks-1":         acks(sarama.WaitForLocal),
		"acks-all":       acks(sarama.WaitForAll),
		"gzip":           compressed(sarama.CompressionGZIP),
		"snappy":         compressed(sarama.CompressionSnappy),
		"lz4":            compressed(sarama.CompressionLZ4),
		"zstd":           compressed(sarama.CompressionZSTD),
		"idempotent":     roundTrip(idempotent),
		"message-3mb":    large(3_000_000),
		"message-10mb":   large(10_000_000),
		"group":          group,
		"static-member":  static,
		"offsets":        offsets,
		"seek-by-time":   seekByTime(sarama.CompressionNone),
		"seek-in-gzip":   seekByTime(sarama.CompressionGZIP),
		"seek-in-zstd":   seekByTime(sarama.CompressionZSTD),
		"groups":         withAdmin(groups),
		"delete-records": withAdmin(deleteRecords),
		"configs":        withAdmin(configs),
		"configs-of-old": withAdmin(oldConfigs),
		"log-dirs":       withAdmin(logDirs),
		"transactions":   transactions,
	})
}
