// Encodings of your own, in JavaScript: equal to built-in ones, safe when they fail, in workers too.
import assert from 'node:assert/strict';
import { writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { EncodingError, experiment, importEncoding, load } from '../../dist/index.js';
import { load as loadRemote } from '../../dist/remote.js';
import { texts } from '../../dist/texts.mjs';

const lw = await load({ variant: 'simd' });
const home = mkdtempSync(join(tmpdir(), 'lengthwise-custom-'));
after(() => rmSync(home, { recursive: true }));

const ALIBI = `export default { name: 'mine', bias: (head, distance, { heads }) => -(2 ** (-8 * (head + 1) / heads)) * Math.abs(distance) };`;
const alibi = { name: 'mine', bias: (head, distance, { heads }) => -(2 ** (-8 * (head + 1) / heads)) * Math.abs(distance) };
const MODEL = { width: 32, layers: 2, heads: 4, vocabulary: 33 };
const tokens = Int32Array.from({ length: 200 }, (_, i) => (i * 7 + (i >> 2)) % 33);

test('an encoding is imported from the text or the URL of its module', async () => {
  const file = join(home, 'one.mjs');
  writeFileSync(file, ALIBI);
  for (const module of [ALIBI, pathToFileURL(file)]) {
    const definition = await importEncoding(module);
    assert.deepEqual([definition.name, definition.bias(1, 4, { heads: 8 })], ['mine', -1]);
  }
  await assert.rejects(importEncoding('export default {'), EncodingError);
  await assert.rejects(importEncoding(alibi), { name: 'TypeError', message: /an encoding must be the URL or the text of a module/ });
  // Of a long module its text is not repeated; whatever is thrown has words.
  await assert.rejects(importEncoding(`import './x.mjs'; export default { name: 'a' }; //${'x'.repeat(5000)}`), (e) => e instanceof EncodingError && e.message.length < 600);
  for (const what of ['Symbol()', 'Object.create(null)', 'undefined']) await assert.rejects(importEncoding(`export default 1; throw ${what}`), EncodingError, what);
  await assert.rejects(importEncoding('./mine.mjs'), { name: 'RangeError', message: /exports nothing/ });
});

/** Registered while `body` runs. */
function own(definition, body) {
  const name = lw.register(definition);
  try {
    return body(name);
  } finally {
    lw.unregister(name);
  }
}
function logits(encoding, length = 200) {
  const model = lw.model({ ...MODEL, encoding });
  try {
    return model.logits(tokens.subarray(0, length));
  } finally {
    model.dispose();
  }
}
function losses(encoding) {
  const model = lw.model({ ...MODEL, encoding });
  const trainer = model.trainer();
  const all = Array.from({ length: 10 }, () => trainer.step(tokens.subarray(0, 4 * 33), { batch: 4, length: 32 }).loss);
  all.push(...model.losses(tokens));
  model.dispose();
  return all;
}
/** The error of `call`, checked for class and words. */
function fails(call, kind, ...words) {
  assert.throws(call, (error) => {
    assert.ok(error instanceof kind, `${error.name}: ${error.message}`);
    for (const word of words) assert.ok(error.message.includes(word), `"${error.message}" lacks "${word}"`);
    return true;
  });
}

test('ALiBi in one line has the bits of the built-in one, in a model and in training', () => {
  own(alibi, () => {
    assert.deepEqual(logits('mine'), logits('alibi'));
    assert.deepEqual(losses('mine'), losses('alibi'));
    assert.deepEqual(logits('mine+window:width=32'), logits('alibi+window:width=32'));
    assert.deepEqual(lw.encoding('mine', { heads: 3, causal: false }).bias(5), lw.encoding('mine', { heads: 3, causal: false }).bias(5));
  });
  own({ name: 'dense', biasAt: (head, i, j, { heads }) => -(2 ** (-8 * (head + 1) / heads)) * (i - j) }, () =>
    assert.deepEqual(logits('dense'), logits('alibi')));
});

test('each door', () => {
  own({ name: 'near', pattern: (i, j) => Math.abs(i - j) < 32 }, () => {
    assert.deepEqual(logits('near'), logits('window:width=32'));
    const shape = { causal: false };
    assert.deepEqual(lw.encoding('near', shape).pattern(80), lw.encoding('window:width=32', shape).pattern(80));
  });
  own({ name: 'half', ids: (p) => p / 2 }, () => {
    const halves = Float64Array.from({ length: 20 }, (_, i) => i / 2);
    assert.deepEqual(lw.encoding('half').positions(20), halves);
    assert.deepEqual(lw.encoding('half+rope', { headDim: 8 }).rotation(20), lw.encoding('rope', { headDim: 8 }).rotation(halves));
    assert.deepEqual(losses('half+rope').slice(0, 10), losses('interpolated:factor=2+rope').slice(0, 10));
  });
  own({ name: 'turn', rotation: (p, pair, { headDim }) => p * 10000 ** (-2 * pair / headDim) }, () => {
    const [ours, theirs] = [logits('turn'), logits('rope')];
    ours.forEach((x, i) => assert.ok(Math.abs(x - theirs[i]) < 1e-5));
  });
  own({ name: 'slow', rotation: (p) => p / 100, pairs: 2, pairing: 'half' }, () => {
    const { pairs, pairing, cos } = lw.encoding('slow', { headDim: 8 }).rotation([50]);
    assert.deepEqual([pairs, pairing, ...cos], [2, 'half', Math.fround(Math.cos(0.5)), Math.fround(Math.cos(0.5))]);
  });
  own({ name: 'wave', input: (p, { width }) => Array.from({ length: width }, (_, c) => (c % 2 ? Math.cos : Math.sin)(p * 10000 ** (-(c - (c % 2)) / width))) }, () => {
    const [ours, theirs] = [lw.encoding('wave', { width: 16 }).table(50), lw.encoding('sinusoidal', { width: 16 }).table(50)];
    ours.forEach((x, i) => assert.ok(Math.abs(x - theirs[i]) < 1e-6));
  });
  own({ name: 'sharp', scale: (head, seen, { trainedLength }) => Math.max(1, Math.log(seen) / Math.log(trainedLength)) }, () => {
    const [ours, theirs] = [logits('sharp'), logits('log_n')];
    ours.forEach((x, i) => assert.ok(Math.abs(x - theirs[i]) < 1e-5));
  });
  own({ name: 'hard', bias: (_, d) => (d < 32 ? 0 : -Infinity) }, () => {
    const [ours, theirs] = [logits('hard'), logits('window:width=32')];
    ours.forEach((x, i) => assert.ok(Math.abs(x - theirs[i]) < 1e-5));
  });
});

test('functions are called when a table is built, and not again', () => {
  let calls = 0;
  own({ name: 'counted', bias: (_, d) => (calls++, -d) }, () => {
    const model = lw.model({ ...MODEL, encoding: 'counted' });
    const trainer = model.trainer();
    for (let i = 0; i < 5; i++) trainer.step(tokens.subarray(0, 4 * 33), { batch: 4, length: 32 });
    assert.equal(calls, 4 * 32);
  });
});

test('options, and the shape', () => {
  const definition = {
    name: 'mine', title: 'My "own"\n', options: { slope: 0.5, both: false, form: ['straight', 'square'], power: { default: 1, least: 1, most: 3, integer: true, meaning: 'Of the distance.' } },
    bias: (head, d, { slope, both, form, power, heads, trainedLength, causal }) => {
      assert.deepEqual([heads, trainedLength, causal], [2, 99, true]);
      return -slope * (form === 'square' ? d * d : d ** power) * (both ? 2 : 1);
    },
  };
  own(definition, () => {
    const at = (spec) => lw.encoding(spec, { heads: 2, trainedLength: 99 }).bias(4)[12];
    assert.deepEqual(['mine', 'mine:slope=2', 'mine:both=true', 'mine:form=square', 'mine:power=3'].map(at), [-1.5, -6, -3, -4.5, -13.5]);
    fails(() => at('mine:power=1.5'), RangeError, 'mine:power', '1.5', '1 to 3');
    fails(() => at('mine:slop=2'), RangeError, 'slop', 'slope');
    const described = lw.encodings().find((e) => e.name === 'mine');
    assert.deepEqual(described.options.map((o) => [o.name, o.kind, o.default]), [['slope', 'number', 0.5], ['both', 'flag', false], ['form', 'choice', 'straight'], ['power', 'integer', 1]]);
    assert.deepEqual(described.doors, ['bias']);
    const { title, title_zh, past_note, differs, options } = lw.encodings(texts).find((e) => e.name === 'mine');
    assert.deepEqual([title, title_zh, differs, options[3].meaning], ['My "own" ', 'My "own" ', '', 'Of the distance.']);
    assert.ok(past_note);
  });
});

test('an object of a class', () => {
  class Steep {
    name = 'steep';
    #slope = 2;
    bias(head, distance) { return -this.#slope * distance; }
  }
  own(new Steep(), (name) => assert.deepEqual([...lw.encoding(name, { heads: 1, headDim: 4 }).bias(2)].slice(2), [-2, 0]));
});

test('whatever is thrown arrives as text', () => {
  for (const what of [Symbol('oh'), Object.create(null)]) {
    own({ name: 'throws', bias() { throw what; } }, (name) => {
      assert.throws(() => lw.encoding(name, { heads: 1, headDim: 4 }).bias(2), { name: 'EncodingError', message: /throws:bias\(0, .*\) threw/ });
    });
  }
});

test('what is wrong with a definition is said at once', () => {
  const wrong = (change, kind, ...words) => fails(() => lw.register({ ...alibi, ...change }), kind, ...words);
  for (const name of ['', 'Mine', 'my-own', '1st', 'a b', 'rope:base']) wrong({ name }, RangeError, `"${name}"`, 'a to z');
  wrong({ name: 'alibi' }, RangeError, 'alibi', 'catalogue');
  wrong({ name: 5 }, TypeError, 'name');
  wrong({ bias: 3 }, TypeError, 'mine:bias', 'function');
  wrong({ baisAt: () => 0 }, TypeError, 'baisAt', 'biasAt');
  wrong({ biasAt: () => 0 }, TypeError, 'bias and biasAt');
  wrong({ pairs: 3 }, TypeError, 'mine has pairs but no rotation');
  wrong({ bias: undefined }, RangeError, 'no door');
  wrong({ pairing: 'both' }, RangeError, 'pairing');
  wrong({ options: { heads: 1 } }, RangeError, 'heads');
  wrong({ options: { form: ['a b'] } }, RangeError, 'form');
  wrong({ options: { form: ['a', 'b', 'a'] } }, RangeError, 'form', 'a twice');
  wrong({ options: { name: 1 } }, RangeError, 'options.name');
  wrong({ options: { power: { default: 5, most: 3 } } }, RangeError, 'power');
  wrong({ options: { Slope: 1 } }, RangeError, 'Slope');
  fails(() => lw.register(null), TypeError, 'null');
  fails(() => lw.register(alibi, { force: true }), TypeError, 'force');
  own(alibi, () => fails(() => lw.register(alibi), RangeError, '"mine"', 'replace'));
  assert.equal(lw.unregister('mine'), false);
  assert.equal(lw.unregister('alibi'), false);
  fails(() => lw.encoding('mine'), RangeError, '"mine"', 'alibi');
});

test('what is wrong with a function names the encoding, the door and the arguments, and the engine works on', () => {
  const cases = [
    [{ bias: (_, d) => (d === 2 ? NaN : 0) }, 'mine:bias(0, 2)', 'NaN'],
    [{ bias: (h, d) => (d === 2 ? undefined : 0) }, 'mine:bias(0, 2)', 'undefined'],
    [{ bias: async () => 0 }, 'mine:bias(0, ', 'Promise'],
    [{ bias: (_, d) => (d === 1 ? Infinity : -Infinity) }, 'mine:bias(0, 1)', 'Infinity'],
    [{ biasAt: (h, i, j) => (i === 3 && j === 1 ? '0' : 0) }, 'mine:biasAt(0, 3, 1)', "'0'"],
    [{ ids: (p) => (p === 2 ? 1e300 : p) }, 'mine:ids(2)', '1e+300'],
    [{ ids: (p) => (p === 2 ? null : p) }, 'mine:ids(2)', 'null'],
    [{ input: (p) => (p === 2 ? [1, 2] : new Float32Array(4)) }, 'mine:input(2)', '2 numbers', '4'],
    [{ input: (p) => (p === 2 ? [1, 2, 3, undefined] : [0, 0, 0, 0]) }, 'mine:input(2)', 'undefined'],
    [{ input: (p) => (p === 2 ? [1, 2, 3, NaN] : [0, 0, 0, 0]) }, 'mine:input(2, 3)', 'NaN'],
    [{ input: (p) => (p === 2 ? 7 : [0, 0, 0, 0]) }, 'mine:input(2)', 'number'],
    [{ rotation: (p, k) => (p === 2 && k === 1 ? Infinity : 0) }, 'mine:rotation(2, 1)', 'Infinity'],
    [{ pattern: (i, j) => (i === 2 && j === 1 ? 1 : true) }, 'mine:pattern(2, 1)', 'number'],
    [{ scale: (h, n) => (n === 3 ? -Infinity : 1) }, 'mine:scale(0, 3)', 'Infinity'],
    [{ scale: (h, n) => n.missing.at }, 'mine:scale(0, 1)', 'TypeError'],
  ];
  for (const [doors, ...words] of cases) own({ name: 'mine', ...doors }, () => {
    fails(() => {
      const encoding = lw.encoding('mine', { headDim: 4 });
      encoding.attention(new Float32Array(16), new Float32Array(16), new Float32Array(16));
    }, EncodingError, ...words);
  });
  const cause = new Error('no idea');
  own({ name: 'mine', bias: () => { throw cause; } }, () => assert.throws(() => lw.encoding('mine'), { name: 'EncodingError', message: 'mine:bias(0, 0) threw Error: no idea', cause }));
  assert.equal(lw.encoding('alibi').bias(3).length, 9);
});

test('a model works on after a length at which its encoding fails, generating too', async () => {
  lw.register({ name: 'short', bias: (_, d) => { if (d >= 70) throw new RangeError('too far'); return -d; } });
  const model = lw.model({ ...MODEL, encoding: 'short' });
  const before = model.logits(tokens.subarray(0, 40));
  fails(() => model.logits(tokens.subarray(0, 100)), EncodingError, 'short:bias(0, ', 'too far');
  assert.deepEqual(model.logits(tokens.subarray(0, 40)), before);
  const made = [];
  await assert.rejects(async () => { for await (const token of model.generate(tokens.subarray(0, 40), { tokens: 60 })) made.push(token); }, EncodingError);
  assert.equal(made.length, 31);
  assert.deepEqual(model.logits(tokens.subarray(0, 40)), before);
  lw.unregister('short');
});

test('live editing: what exists keeps the functions it was made with', () => {
  const constant = (value) => ({ name: 'live', bias: () => value });
  lw.register(constant(1));
  const first = lw.encoding('live');
  const model = lw.model({ ...MODEL, encoding: 'live' });
  const before = model.logits(tokens);
  lw.register({ ...constant(0), bias: (_, d) => -d }, { replace: true });
  const second = lw.encoding('live');
  lw.unregister('live');
  assert.deepEqual([first.bias(2)[2], second.bias(2)[2]], [1, -1]);
  assert.deepEqual(model.logits(tokens.subarray(0, 100)), before.subarray(0, 100 * 33));
  const file = model.save();
  fails(() => lw.loadModel(file), Error, 'live');
  lw.register(constant(1));
  assert.deepEqual(lw.loadModel(file).logits(tokens), before);
  lw.unregister('live');
});

test('a function may not use what is in the middle of its work', () => {
  let other;
  own({ name: 'deep', bias: (_, d) => other ? other.bias(3)[0] : -d }, () => {
    other = undefined;
    const made = lw.encoding('deep');
    other = made;
    fails(() => made.bias(9), EncodingError, 'deep:bias', 'uses the engine');
    other = { bias: () => [made.dispose()] };
    fails(() => made.bias(9), EncodingError, 'deep:bias', 'uses the engine');
    other = { bias: () => [lw.encoding('deep')] };
    fails(() => made.bias(9), EncodingError, 'deep:bias', 'uses the engine');
    for (const change of [() => lw.register({ ...alibi, name: 'another' }), () => lw.register({ name: 'deep', bias: () => 0 }, { replace: true }), () => lw.unregister('deep')]) {
      other = { bias: () => [change()] };
      fails(() => made.bias(9), EncodingError, 'deep:bias', 'uses the engine');
    }
    assert.equal(lw.unregister('another'), false);
    other = undefined;
    assert.equal(made.bias(3)[6], -2);
  });
});

test('audits', () => {
  const shape = { heads: 2, headDim: 8, trainedLength: 16 };
  own(alibi, () => {
    const [ours, theirs] = [lw.audit('mine', shape), lw.audit('alibi', shape)];
    for (const part of ['unique', 'deterministic', 'past', 'content']) assert.deepEqual(ours[part], theirs[part]);
    assert.deepEqual([ours.past.distances, ours.cost.parameters, ours.past.refused], [0.75, 0, '']);
  });
  assert.equal(lw.audit('nope').unique.distance, 0);
  fails(() => lw.audit('ropee'), RangeError, 'ropee');
  fails(() => lw.audit('rope', { headDim: 0 }), RangeError, 'headDim');
  own({ name: 'mine', bias: (_, d) => (d > 20 ? NaN : d) }, () => assert.match(lw.audit('mine', shape).past.refused, /mine:bias\(0, \d+\) is NaN/));
});

test('in a worker: the text or the address of a module', async () => {
  const remote = await loadRemote({ variant: 'simd' });
  try {
    assert.equal(await remote.register(ALIBI), 'mine');
    const file = join(home, 'mine.mjs');
    writeFileSync(file, ALIBI.replace("'mine'", "'filed'"));
    assert.equal(await remote.register(pathToFileURL(file)), 'filed');
    const wanted = logits('alibi');
    for (const encoding of ['mine', 'filed']) {
      const model = await remote.model({ ...MODEL, encoding });
      assert.deepEqual(await model.logits(tokens), wanted);
    }
    const rejects = (call, kind, ...words) => assert.rejects(call, (error) => {
      assert.ok(error instanceof kind, `${error.name}: ${error.message}`);
      for (const word of words) assert.ok(error.message.includes(word), `"${error.message}" lacks "${word}"`);
      return true;
    });
    assert.equal((await remote.audit('mine', { trainedLength: 16 })).past.distances, 0.75);
    await rejects(remote.register(ALIBI), RangeError, '"mine"', 'replace');
    assert.equal(await remote.register(ALIBI.replace('-(', '-2 * ('), { replace: true }), 'mine');
    await rejects(remote.register('export default { name: "mine", bias: 3 }', { replace: true }), TypeError, 'mine:bias', 'function');
    await rejects(remote.register('export default {'), EncodingError, 'SyntaxError');
    await assert.rejects(remote.register('export default {'), ({ message }) => !/Content-Security-Policy/.test(message));
    await rejects(remote.register('export const x = 1'), EncodingError, 'no default export');
    await rejects(remote.register(pathToFileURL(join(home, 'missing.mjs'))), EncodingError, 'missing.mjs');
    await rejects((async () => remote.register(alibi))(), TypeError, 'functions cannot be sent');
    await rejects((async () => remote.register('./mine.mjs'))(), RangeError, 'URL');
    await remote.register('export default { name: "broken", bias: (h, d) => d === 3 ? NaN : 0 }');
    await rejects((await remote.encoding('broken')).bias(9), EncodingError, 'broken:bias(0, 3)');
    assert.equal(await remote.unregister('broken'), true);
  } finally {
    remote.terminate();
  }
});

test('experiments with an encoding of your own, in workers and in this thread', async () => {
  const options = { encodings: ['mine', 'alibi', 'mine+window:width=4'], task: 'copy', trainLength: 8, testLengths: [8, 32], steps: 10, batch: 2, testTokens: 128,
    variant: 'simd', model: { width: 16, layers: 1, heads: 2 } };
  const there = await experiment({ ...options, register: [ALIBI], workers: 1 }).finished;
  const here = await experiment({ ...options, register: [alibi], workers: 0 }).finished;
  for (const { encodings: [mine, built] } of [there, here]) {
    assert.deepEqual(mine.failed, []);
    assert.deepEqual(mine.tests.map((t) => t.loss), built.tests.map((t) => t.loss));
  }
  assert.deepEqual(here.encodings.map((e) => e.tests), there.encodings.map((e) => e.tests));
  assert.throws(() => experiment({ ...options, register: [alibi] }), { name: 'TypeError', message: /functions cannot be sent/ });
  const short = `export default { name: 'mine', bias: (h, d) => { if (d >= 16) throw new Error('too far'); return -d; } };`;
  const { encodings: [refused] } = await experiment({ ...options, register: [short], workers: 1 }).finished;
  assert.match(refused.tests[1].refused, /^mine:bias\(0, \d+\) threw Error: too far$/);
});
