// The bench against peers, without any peer: what is wrong is not timed, and nobody's failure ends the bench.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import test from 'node:test';
import { lossOf, trained, weightsOf } from '../bench/peers/llama.mjs';
import { compete, entriesOf, judge } from '../bench/peers/measure.mjs';
import { load as loadPlain } from '../bench/peers/plain.mjs';
import { expected, inputs, rows } from '../bench/peers/rows.mjs';
import { figure, standing, table } from '../bench/peers/table.mjs';

const budget = { warmUp: 0, turn: 0, seconds: 0.001, now: () => performance.now() };
const small = { id: 'product 16×288×768', group: 'product', kind: 'product', m: 16, k: 288, n: 768, work: 1, unit: 'GFLOP/s' };

test('a result is refused for its size, for one number that is off and for one that is none', () => {
  const wanted = { size: 3, at: [0, 2], values: [1, 3], tolerance: 0.01 };
  assert.equal(judge(Float32Array.of(1, 99, 3.005), wanted).fault, null); // 1 is not looked at
  assert.match(judge(Float32Array.of(1, 2), wanted).fault, /2 numbers instead of 3/);
  assert.match(judge(undefined, wanted).fault, /undefined numbers/);
  assert.match(judge(Float32Array.of(1, 2, 3.1), wanted).fault, /off by 0.10/);
  assert.match(judge(Float32Array.of(NaN, 2, 3), wanted).fault, /off by NaN/);
});

test('a wrong kernel and one that throws are named with the reason; the right one is timed', async () => {
  const plain = await loadPlain();
  const wrong = { name: 'wrong', kinds: { product: async (row) => {
    const work = await plain.kinds.product(row);
    return { ...work, result: () => work.result().map((x, i) => (i ? x : x + 0.1)) };
  } } };
  const broken = { name: 'broken', kinds: { product() { throw new Error('no such operator'); } } };
  const absent = { name: 'absent', fault: 'does not load: no such file' }; // said once, where it is loaded
  const result = await compete(small, entriesOf(small, [plain, wrong, broken, absent]), expected, budget);
  const [right, ...others] = result.entries;
  assert.ok(right.median > 0 && right.error < 1e-4 && right.low <= right.median && right.median <= right.high);
  assert.deepEqual(others.map(({ median }) => median), [undefined, undefined]);
  assert.match(others[0].fault, /is wrong: off by 0\.1/);
  assert.match(others[1].fault, /no such operator/);
  for (const { name } of result.entries) assert.ok(table(result).includes(name));
});

test('who is slow takes three rounds, who is very slow one', async () => {
  const rounds = async (milliseconds) => {
    let clock = 0;
    const slow = { name: 'slow', kinds: { product: () => ({ run() { clock += milliseconds; }, result: () => Float32Array.of(1) }) } };
    const { entries } = await compete(small, [{ contender: slow }], () => ({ size: 1, values: [1], tolerance: 0 }), { warmUp: 0, turn: 0, seconds: 0.001, now: () => clock });
    return entries[0].rounds;
  };
  assert.deepEqual([await rounds(1.2), await rounds(5)], [3, 1]);
});

test('plain JavaScript agrees with the doubles in every kind that it has, at small sizes', async () => {
  const plain = await loadPlain();
  const shrink = { attention: { length: 33 }, rotate: { length: 20 }, copy: { length: 20 }, sinusoidal: { length: 50, width: 16 }, bias: { length: 70 }, distances: { length: 300 },
    product: { m: 5, n: 8, k: 12 } };
  for (const row of rows.filter(({ kind, specs }) => shrink[kind] && !specs)) {
    const tried = { ...row, ...shrink[row.kind], id: `small ${row.id}` };
    const work = plain.kinds[row.kind](tried);
    work.run();
    assert.equal(judge(work.result(), expected(tried)).fault, null, row.id);
  }
});

test('the reference of a training step is that of chance before anything is learned', () => {
  const config = { ...trained(64), vocabulary: 64 };
  const { tokens } = inputs({ kind: 'training', config, batch: 2 });
  const loss = lossOf(config, { ...weightsOf(config), embedding: new Float32Array(64 * 64) }, tokens, 2);
  assert.ok(Math.abs(loss - Math.log(64)) < 1e-6, String(loss));
});

test('ratios are against the fastest peer, of our fastest', () => {
  const row = { work: 2, unit: 'GFLOP/s', entries: [{ ours: true, median: 10 }, { ours: true, median: 4 }, { median: 12 }, { median: 8 }, { fault: 'x' }] };
  assert.equal(standing(row).ratio, 2);
  assert.equal(standing({ ...row, entries: row.entries.slice(0, 2) }), null);
  assert.equal(figure(row, 500), 4);
});

test('the recorded results have what is drawn from them', () => {
  const folder = new URL('../bench/results/', import.meta.url);
  for (const name of readdirSync(folder).filter((each) => /^peers-.*\.json$/.test(each))) {
    const { machine, date, versions, runs } = JSON.parse(readFileSync(new URL(name, folder), 'utf8'));
    assert.ok(machine.cpu && versions['onnxruntime-web'] && /^\d{4}-\d\d-\d\d$/.test(date), name);
    for (const { engine, contenders, rows: measured } of runs) {
      assert.ok(engine && contenders.length && measured.length, name);
      for (const row of measured) for (const entry of row.entries) assert.ok(row.id && row.unit && entry.name && (entry.median > 0 || entry.fault), `${name}: ${row.id}`);
    }
  }
});
