// kafkajs. It ends as the programs in Python do (tests/clients/python/program.py).
const { Kafka, CompressionTypes, CompressionCodecs, ConfigResourceTypes, logLevel, Partitioners } = require('kafkajs')
CompressionCodecs[CompressionTypes.Snappy] = require('kafkajs-snappy')

const [servers, name, feature] = process.argv.slice(2)
const group = `${name}-group`
const PATIENCE_MS = 60000
const VALUES = [...Array(9).keys()].map(number => `value-${number}`)
const kafka = new Kafka({ brokers: servers.split(','), clientId: 'try', logLevel: logLevel.NOTHING, requestTimeout: 30000, retry: { retries: 12 } })

const sleep = ms => new Promise(done => setTimeout(done, ms))
const expect = (found, wanted, what) => {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(`${what}: ${JSON.stringify(found).slice(0, 200)}`)
}
const until = async (condition, what) => {
  for (const end = Date.now() + PATIENCE_MS; !(await condition()); await sleep(100)) {
    if (Date.now() > end) throw new Error(`waited ${PATIENCE_MS} ms in vain: ${what}`)
  }
}

const produce = async (values = VALUES, { topic = name, how = {}, ...options } = {}) => {
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner, ...options })
  await producer.connect()
  await producer.send({ topic, messages: values.map(value => ({ value })), ...how })
  await producer.disconnect()
}
const member = async (found, { topic = name, ...run } = {}) => {
  const consumer = kafka.consumer({ groupId: group, maxBytesPerPartition: 16 << 20 })
  const state = { consumer, share: 0 }
  consumer.on('consumer.group_join', ({ payload }) => { state.share = (payload.memberAssignment[topic] || []).length })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({ eachMessage: async ({ message }) => { found.push(message.value.toString()) }, ...run })
  return state
}
const readBack = async (values = VALUES, topic = name) => {
  const found = []
  const { consumer } = await member(found, { topic })
  await until(() => found.length >= values.length, 'values are read back')
  await consumer.disconnect()
  expect(found.sort(), [...values].sort(), 'what was read back')
}
const roundTrip = options => async () => { await produce(VALUES, options); await readBack() }
const large = size => async () => { const values = ['v'.repeat(size)]; await produce(values); await readBack(values) }
const withAdmin = what => async () => {
  const admin = kafka.admin()
  await admin.connect()
  await what(admin)
  await admin.disconnect()
}
const offsets = async () => {
  await produce()
  const first = []
  const one = await member(first, { autoCommitThreshold: 1 })
  await until(() => first.length === VALUES.length, 'all is read')
  await one.consumer.disconnect()
  await produce(['more'])
  const second = []
  const other = await member(second)
  await until(() => second.length > 0, 'more is read')
  await other.consumer.disconnect()
  expect(second, ['more'], 'what the second read')
}
const seekByTime = how => withAdmin(async admin => {
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner })
  await producer.connect()
  const messages = [...Array(10).keys()].map(number => ({ value: 'v', partition: 0, timestamp: String(1000 + number) }))
  await producer.send({ topic: name, messages, ...how })
  await producer.disconnect()
  const found = await admin.fetchTopicOffsetsByTimestamp(name, 1006)
  expect(found.find(each => each.partition === 0).offset, '6', 'the offset of a time')
})
const resource = { type: ConfigResourceTypes.TOPIC, name }

const FEATURES = {
  metadata: withAdmin(async admin => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [name] })
    expect(topics[0].partitions.length, 3, 'partitions')
  }),
  'create-topic': withAdmin(async admin => {
    const topic = `${name}-made`
    await admin.createTopics({ topics: [{ topic, numPartitions: 2 }], waitForLeaders: true })
    await produce(VALUES, { topic })
    await admin.deleteTopics({ topics: [topic] })
    await until(async () => !(await admin.listTopics()).includes(topic), 'it is gone')
  }),
  'auto-create': async () => { const topic = `${name}-unasked`; await produce(VALUES, { topic }); await readBack(VALUES, topic) },
  'acks-0': roundTrip({ how: { acks: 0 } }),
  'acks-1': roundTrip({ how: { acks: 1 } }),
  'acks-all': roundTrip({ how: { acks: -1 } }),
  gzip: roundTrip({ how: { compression: CompressionTypes.GZIP } }),
  snappy: roundTrip({ how: { compression: CompressionTypes.Snappy } }),
  idempotent: roundTrip({ idempotent: true, maxInFlightRequests: 1 }),
  'message-3mb': large(3000000),
  'message-10mb': large(10000000),
  group: async () => {
    const first = await member([])
    const second = await member([])
    await until(() => first.share + second.share === 3 && first.share > 0 && second.share > 0, 'two share three partitions')
    await second.consumer.disconnect()
    await until(() => first.share === 3, 'the one that stays has all')
    await first.consumer.disconnect()
  },
  offsets,
  'seek-by-time': seekByTime({}),
  'seek-in-gzip': seekByTime({ compression: CompressionTypes.GZIP }),
  groups: withAdmin(async admin => {
    await offsets()
    const listed = async () => (await admin.listGroups()).groups.map(each => each.groupId).includes(group)
    expect(await listed(), true, 'it is listed')
    expect((await admin.describeGroups([group])).groups[0].members.length, 0, 'its members')
    expect((await admin.fetchOffsets({ groupId: group, topics: [name] }))[0].partitions.length, 3, 'its offsets')
    await admin.deleteGroups([group])
    expect(await listed(), false, 'it is listed')
  }),
  'delete-records': withAdmin(async admin => {
    await produce()
    const ends = await admin.fetchTopicOffsets(name)
    await admin.deleteTopicRecords({ topic: name, partitions: ends.filter(each => each.offset !== '0').map(({ partition, offset }) => ({ partition, offset })) })
    const starts = await admin.fetchTopicOffsets(name)
    expect(starts.map(each => each.low), starts.map(each => each.high), 'where logs begin')
  }),
  'configs-of-old': withAdmin(async admin => {
    await admin.alterConfigs({ resources: [{ ...resource, configEntries: [{ name: 'retention.ms', value: '654321' }] }] })
    await until(async () => {
      const { resources } = await admin.describeConfigs({ resources: [resource] })
      return resources[0].configEntries.some(each => each.configName === 'retention.ms' && each.configValue === '654321')
    }, 'it is configured so')
  }),
  transactions: async () => {
    const producer = kafka.producer({ transactionalId: name, maxInFlightRequests: 1, idempotent: true, createPartitioner: Partitioners.DefaultPartitioner })
    await producer.connect()
    const transaction = await producer.transaction()
    await transaction.send({ topic: name, messages: [{ value: 'v' }] })
    await transaction.commit()
    await producer.disconnect()
  },
}

if (!FEATURES[feature]) process.exit(3)
FEATURES[feature]().then(() => process.exit(0), error => {
  console.error(`${error.name}: ${error.message}`)
  process.exit(1)
})
