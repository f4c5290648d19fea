// What an application does with @clickhouse/client; the address of the door is the first argument.
import { createClient } from '@clickhouse/client'
import assert from 'node:assert'

const url = process.argv[2]
for (const compression of [false, true]) {
  const client = createClient({ url, compression: { response: compression, request: false },
    clickhouse_settings: { max_execution_time: 0, max_threads: 8, max_result_rows: '0' } })
  assert.ok((await client.ping()).success)

  for (const format of ['JSON', 'JSONCompact', 'JSONEachRow']) {
    const result = await client.query({ query: 'SELECT number AS n FROM numbers(300000)', format })
    const answer = await result.json()
    assert.equal((answer.data ?? answer).length, 300000, format)
    assert.equal(answer.rows ?? 300000, 300000)
  }

  const ids = Array.from({ length: 30000 }, (_, i) => `id-${i}`)
  for (const how of [{ use_multipart_params: true }, { use_multipart_params_auto: true }]) {
    const result = await client.query({ query: 'SELECT length({ids:Array(String)}) AS n, {s:String} AS s', format: 'JSONEachRow',
      query_params: { ids, s: "it's\t\\" }, ...how })
    assert.deepEqual(await result.json(), [{ n: '30000', s: "it's\t\\" }])
  }

  // An error after the first rows has its reason.
  await assert.rejects(async () => {
    const result = await client.query({ query: "SELECT throwIf(number = 250000, 'in the middle') AS n FROM numbers(300000)",
      format: 'JSONEachRow', clickhouse_settings: { max_block_size: '1000' } })
    for await (const rows of result.stream()) rows.length
  }, /in the middle/, `compression ${compression}`)
  await assert.rejects(client.query({ query: "SELECT throwIf(number = 250000, 'at the end') AS n FROM numbers(300000)",
    format: 'JSONEachRow', clickhouse_settings: { max_block_size: '1000', wait_end_of_query: 1 } }), /at the end/)

  await assert.rejects(client.query({ query: 'SELECT 1', session_id: 's', clickhouse_settings: { session_check: '1' } }), /sessions are not kept/)
  await assert.rejects(client.command({ query: 'KILL QUERY WHERE 1' }), /read-only/)
  await client.close()
}
