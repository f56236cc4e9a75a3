// kafka-go.
package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"clients/try"

	"github.com/segmentio/kafka-go"
)

func within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), try.Patience)
}

func writer(t try.Try, topic string) *kafka.Writer {
	return &kafka.Writer{
		Addr: kafka.TCP(t.Servers...), Topic: topic, RequiredAcks: kafka.RequireAll,
		BatchTimeout: 10 * time.Millisecond, BatchBytes: try.Largest, MaxAttempts: 20,
		WriteTimeout: try.Patience, ReadTimeout: try.Patience,
	}
}

func write(to *kafka.Writer, values []string) error {
	ctx, cancel := within()
	defer cancel()
	defer to.Close()
	var messages []kafka.Message
	for _, value := range values {
		messages = append(messages, kafka.Message{Value: []byte(value)})
	}
	return to.WriteMessages(ctx, messages...)
}

func reader(t try.Try, topic string) *kafka.Reader {
	return kafka.NewReader(kafka.ReaderConfig{
		Brokers: t.Servers, GroupID: t.Group(), Topic: topic, StartOffset: kafka.FirstOffset,
		MaxBytes: try.Largest, MaxWait: 200 * time.Millisecond,
	})
}

func readSome(from *kafka.Reader, count int, commit bool) ([]string, error) {
	ctx, cancel := within()
	defer cancel()
	var found []string
	for len(found) < count {
		message, err := from.FetchMessage(ctx)
		if err != nil {
			return found, err
		}
		found = append(found, string(message.Value))
		if commit {
			if err := from.CommitMessages(ctx, message); err != nil {
				return found, err
			}
		}
	}
	return found, nil
}

func readBack(t try.Try, topic string, values []string) error {
	from := reader(t, topic)
	defer from.Close()
	found, err := readSome(from, len(values), false)
	if err != nil {
		return err
	}
	return try.Expect(found, values)
}

func roundTrip(change func(*kafka.Writer)) try.Feature {
	return func(t try.Try) error {
		to := writer(t, t.Name)
		change(to)
		if err := write(to, try.Values()); err != nil {
			return err
		}
		return readBack(t, t.Name, try.Values())
	}
}

func compressed(codec kafka.Compression) try.Feature {
	return roundTrip(func(to *kafka.Writer) { to.Compression = codec })
}

func acks(wanted kafka.RequiredAcks) try.Feature {
	return roundTrip(func(to *kafka.Writer) { to.RequiredAcks = wanted })
}

func large(size int) try.Feature {
	return func(t try.Try) error {
		values := []string{string(make([]byte, size))}
		if err := write(writer(t, t.Name), values); err != nil {
			return err
		}
		return readBack(t, t.Name, values)
	}
}

func client(t try.Try) *kafka.Client {
	return &kafka.Client{Addr: kafka.TCP(t.Servers...), Timeout: try.Patience}
}

func metadata(t try.Try) error {
	ctx, cancel := within()
	defer cancel()
	found, err := client(t).Metadata(ctx, &kafka.MetadataRequest{Topics: []string{t.Name}})
	if err == nil && len(found.Topics[0].Partitions) != 3 {
		err = fmt.Errorf("%d partitions", len(found.Topics[0].Partitions))
	}
	return err
}

func createTopic(t try.Try) error {
	name := t.Name + "-made"
	ctx, cancel := within()
	defer cancel()
	made, err := client(t).CreateTopics(ctx, &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: name, NumPartitions: 2, ReplicationFactor: -1}},
	})
	if err == nil {
		err = made.Errors[name]
	}
	if err != nil {
		return err
	}
	if err := write(writer(t, name), try.Values()); err != nil {
		return err
	}
	gone, err := client(t).DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{name}})
	if err == nil {
		err = gone.Errors[name]
	}
	return err
}

func autoCreate(t try.Try) error {
	name := t.Name + "-unasked"
	to := writer(t, name)
	to.AllowAutoTopicCreation = true
	var messages []kafka.Message
	for _, value := range try.Values() {
		messages = append(messages, kafka.Message{Value: []byte(value)})
	}
	defer to.Close()
	// Whoever uses it asks again: it takes the first answer, that the topic is not there yet, for the last.
	if err := try.Until("the topic is made", func() (bool, error) {
		err := to.WriteMessages(context.Background(), messages...)
		return err == nil, err
	}); err != nil {
		return err
	}
	return readBack(t, name, try.Values())
}

func group(t try.Try) error {
	if err := write(writer(t, t.Name), try.Values()); err != nil {
		return err
	}
	first, second := reader(t, t.Name), reader(t, t.Name)
	defer first.Close()
	shares := func(wanted ...int) func() (bool, error) {
		return func() (bool, error) {
			found, err := client(t).DescribeGroups(context.Background(), &kafka.DescribeGroupsRequest{GroupIDs: []string{t.Group()}})
			if err != nil || len(found.Groups) != 1 || len(found.Groups[0].Members) != len(wanted) {
				return false, err
			}
			count := 0
			for _, member := range found.Groups[0].Members {
				for _, topic := range member.MemberAssignments.Topics {
					count += len(topic.Partitions)
				}
			}
			return count == 3, nil
		}
	}
	if err := try.Until("two members share three partitions", shares(1, 2)); err != nil {
		return err
	}
	second.Close()
	return try.Until("the one that stays has all", shares(3))
}

func offsets(t try.Try) error {
	if err := write(writer(t, t.Name), try.Values()); err != nil {
		return err
	}
	var found []string
	for _, count := range []int{4, 5} {
		from := reader(t, t.Name)
		some, err := readSome(from, count, true)
		from.Close()
		if err != nil {
			return err
		}
		found = append(found, some...)
	}
	return try.Expect(found, try.Values())
}

func seekByTime(codec kafka.Compression) try.Feature {
	return func(t try.Try) error {
		to := writer(t, t.Name)
		to.Compression, to.BatchTimeout = codec, 200*time.Millisecond
		to.Balancer = kafka.BalancerFunc(func(kafka.Message, ...int) int { return 0 })
		var messages []kafka.Message
		for number := 0; number < 10; number++ {
			messages = append(messages, kafka.Message{Value: []byte("v"), Time: time.UnixMilli(int64(1000 + number))})
		}
		ctx, cancel := within()
		defer cancel()
		if err := to.WriteMessages(ctx, messages...); err != nil {
			return err
		}
		to.Close()
		found, err := client(t).ListOffsets(ctx, &kafka.ListOffsetsRequest{
			Topics: map[string][]kafka.OffsetRequest{t.Name: {kafka.TimeOffsetOf(0, time.UnixMilli(1006))}},
		})
		if err != nil {
			return err
		}
		for offset := range found.Topics[t.Name][0].Offsets {
			if offset == 6 {
				return nil
			}
		}
		return fmt.Errorf("offsets of a time: %v, not 6", found.Topics[t.Name][0].Offsets)
	}
}

func groups(t try.Try) error {
	if err := offsets(t); err != nil {
		return err
	}
	ctx, cancel := within()
	defer cancel()
	listed := func() (bool, error) {
		for _, server := range t.Servers {
			at, err := net.ResolveTCPAddr("tcp", server)
			if err != nil {
				return false, err
			}
			found, err := client(t).ListGroups(ctx, &kafka.ListGroupsRequest{Addr: at})
			if err != nil {
				return false, err
			}
			for _, each := range found.Groups {
				if each.GroupID == t.Group() {
					return true, nil
				}
			}
		}
		return false, nil
	}
	if is, err := listed(); err != nil || !is {
		return fmt.Errorf("it is not listed (%v)", err)
	}
	gone, err := client(t).DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{t.Group()}})
	if err == nil {
		err = gone.Errors[t.Group()]
	}
	if err != nil {
		return err
	}
	if is, err := listed(); err != nil || is {
		return fmt.Errorf("it is still listed (%v)", err)
	}
	return nil
}

func configs(t try.Try) error {
	ctx, cancel := within()
	defer cancel()
	answer, err := client(t).IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{
		Resources: []kafka.IncrementalAlterConfigsRequestResource{{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: t.Name,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{{Name: "retention.ms", Value: "654321", ConfigOperation: kafka.ConfigOperationSet}},
		}},
	})
	if err == nil {
		err = answer.Resources[0].Error
	}
	return err
}

func oldConfigs(t try.Try) error {
	ctx, cancel := within()
	defer cancel()
	answer, err := client(t).AlterConfigs(ctx, &kafka.AlterConfigsRequest{
		Resources: []kafka.AlterConfigRequestResource{{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: t.Name,
			Configs: []kafka.AlterConfigRequestConfig{{Name: "retention.ms", Value: "654321"}},
		}},
	})
	if err == nil {
		for _, each := range answer.Errors {
			err = each
		}
	}
	return err
}

func transactions(t try.Try) error {
	ctx, cancel := within()
	defer cancel()
	answer, err := client(t).InitProducerID(ctx, &kafka.InitProducerIDRequest{TransactionalID: t.Name, TransactionTimeoutMs: 10000})
	if err == nil {
		err = answer.Error
	}
	return err
}

func main() {
	try.Run(map[string]try.Feature{
		"metadata":       metadata,
		"create-topic":   createTopic,
		"auto-create":    autoCreate,
		"acks-0":         acks(kafka.RequireNone),
		"acks-1":         acks(kafka.RequireOne),
		"acks-all":       acks(kafka.RequireAll),
		"gzip":           compressed(kafka.Gzip),
		"snappy":         compressed(kafka.Snappy),
		"lz4":            compressed(kafka.Lz4),
		"zstd":           compressed(kafka.Zstd),
		"message-3mb":    large(3_000_000),
		"message-10mb":   large(10_000_000),
		"group":          group,
		"offsets":        offsets,
		"seek-by-time":   seekByTime(0),
		"seek-in-gzip":   seekByTime(kafka.Gzip),
		"seek-in-zstd":   seekByTime(kafka.Zstd),
		"groups":         groups,
		"configs":        configs,
		"configs-of-old": oldConfigs,
		"transactions":   transactions,
	})
}
