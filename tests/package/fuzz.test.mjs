// Whatever comes from outside, as text, object or file: a result, or an error of ours with a sentence; and the engine works afterwards.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { Llama2Tokenizer, load, readSafetensors, ropeFromConfig, ropeLayersFromConfig } from '../../dist/index.js';
import { checkpoint, tokenizerFile } from './llama2-files.mjs';

const lw = await load({ variant: 'simd' });
const SHAPE = { heads: 2, headDim: 4, trainedLength: 8 };
const before = [...lw.encoding('t5', { ...SHAPE, seed: 3 }).bias(5)];
after(() => assert.deepEqual([...lw.encoding('t5', { ...SHAPE, seed: 3 }).bias(5)], before));

const OURS = ['TypeError', 'RangeError', 'FormatError', 'OutOfMemoryError', 'EncodingError'];
const RAW = /Cannot |is not (iterable|a function|defined)|undefined \(|Invalid (array|string|typed)|out of bounds|call stack|\bJSON at\b/;

/** What `work` gives, or undefined when it was refused as it should be. */
function ours(work) {
  try {
    return work();
  } catch (error) {
    assert.ok(OURS.includes(error.name) && !RAW.test(error.message) && error.message.length > 8 && error.message.length < 4000, error.stack);
    return undefined;
  }
}

function using(thing, work) {
  try {
    if (thing) work(thing);
  } finally {
    thing?.dispose();
  }
}

/** Holds for all; of what does not, the beginning is shown. */
function always(runs, ...property) {
  const { failed, counterexample, errorInstance, seed, counterexamplePath } = fc.check(fc.property(...property), { numRuns: runs });
  if (failed) throw new Error(`${fc.stringify(counterexample).slice(0, 600)} (seed ${seed}, path ${counterexamplePath})\n${errorInstance?.stack}`);
}

const catalogue = lw.encodings();
const words = catalogue.flatMap(({ name, options }) => [name, ...options.map((option) => option.name)]);
const value = fc.oneof(fc.double(), fc.integer(), fc.constantFrom('true', 'false', 'half', '1;2', '', '1e999', '-0', '0x1', 'Infinity', '1_0', '٣'), fc.string());
const term = fc.tuple(fc.constantFrom(...catalogue), fc.array(fc.tuple(fc.nat(12), value), { maxLength: 3 })).map(([{ name, options }, settings]) =>
  [name, ...settings.map(([at, text]) => `${options[at % Math.max(options.length, 1)]?.name ?? 'x'}=${text}`)].join(':'));
const specText = fc.oneof(
  fc.array(term, { minLength: 1, maxLength: 3 }).map((terms) => terms.join('+')),
  fc.string({ unit: fc.constantFrom(...words, '+', ':', '=', ';', '|', ' ', '1', '-', '.', 'e', '\0', 'é') }), fc.string({ unit: 'binary' }));
const spec = fc.oneof({ weight: 3, arbitrary: specText }, fc.anything(),
  fc.dictionary(fc.constantFrom('name', ...words), fc.oneof(value, fc.array(fc.double()), fc.anything())).chain((options) =>
    fc.constantFrom(...catalogue).map(({ name }) => ({ name, ...options }))));

test('any spec makes an encoding or a sentence', () => {
  always(600, spec, fc.dictionary(fc.constantFrom(...Object.keys(SHAPE), 'kvHeads', 'width', 'causal', 'seed'), fc.oneof(fc.integer({ min: -1, max: 20 }), fc.anything())),
    (given, shape) => using(ours(() => lw.encoding(given, { ...SHAPE, ...shape })), (e) => {
      using(ours(() => lw.encoding(e.spec, e.shape)), (again) => assert.equal(again.spec, e.spec));
      const { width, heads } = e.shape;
      if (width * heads > 2 ** 16) return;
      if (e.readsTokens) e.setTokens([1, 2, 3]);
      for (const call of ['table', 'bias', 'scale']) ours(() => assert.ok(e[call](3).every((x) => !Number.isNaN(x)), `${e.spec}: ${call}`));
    }));
});

test('any configuration of a model makes a model or a sentence', () => {
  const config = fc.record({
    vocabulary: fc.integer({ min: 1, max: 20 }), width: fc.integer({ min: 0, max: 24 }), layers: fc.integer({ min: 0, max: 4 }), heads: fc.integer({ min: 0, max: 4 }),
    kvHeads: fc.integer({ min: 0, max: 4 }), hidden: fc.nat(9), trainedLength: fc.nat(20), norm: fc.constantFrom('rms', 'layer', 'x'), normEpsilon: fc.double(),
    activation: fc.constantFrom('gelu', 'swiglu'), tied: fc.boolean(), causal: fc.boolean(), encoding: fc.oneof(term, spec, fc.record({ layers: fc.array(spec) })), other: fc.anything(),
  }, { requiredKeys: [] });
  always(300, fc.oneof({ weight: 9, arbitrary: config }, fc.anything()), (given) =>
    using(ours(() => lw.model(given)), (model) => ours(() => model.logits([1, 0, 1]))));
});

// Configs whose keys are the ones that are read, with values of any kind, nested ones too.
const KEYS = ['rope_parameters', 'rope_scaling', 'text_config', 'rope_theta', 'rotary_emb_base', 'rope_type', 'type', 'factor', 'alpha', 'low_freq_factor', 'high_freq_factor',
  'original_max_position_embeddings', 'max_position_embeddings', 'n_positions', 'beta_fast', 'beta_slow', 'attention_factor', 'truncate', 'mscale', 'mscale_all_dim', 'short_factor', 'long_factor',
  'short_mscale', 'long_mscale', 'partial_rotary_factor', 'rotary_pct', 'rotary_dim', 'rope_local_base_freq', 'layer_types', 'num_hidden_layers', 'sliding_window_pattern', 'no_rope_layers',
  'no_rope_layer_interval', 'qk_rope_head_dim', 'num_attention_heads', 'num_key_value_heads', 'hidden_size', 'head_dim', 'model_type', 'rope_interleave', 'mrope_section', 'mrope_interleaved',
  'position_embedding_type', 'alibi', 'full_attention', 'sliding_attention', '__proto__', 'constructor', 'toString'];
const leaf = fc.oneof(fc.integer({ min: -2, max: 64 }), fc.double(), fc.constantFrom('yarn', 'linear', 'dynamic', 'longrope', 'llama3', 'ntk', 'proportional', 'default', 'mrope', 'su', 'full_attention',
  'sliding_attention', 'toString', null, true, 8, 2 ** 53), fc.array(fc.oneof(fc.double(), fc.constantFrom('full_attention', 'sliding_attention', 0, 1, null)), { maxLength: 4 }), fc.anything());
const { config: hostile } = fc.letrec((tie) => ({
  config: fc.array(fc.tuple(fc.constantFrom(...KEYS), fc.oneof({ depthSize: 'small' }, leaf, leaf, tie('config'))), { maxLength: 9 }).map((entries) => Object.fromEntries(entries)),
}));

test('any config.json is a rotation or a sentence', () => {
  const base = fc.constantFrom({}, { head_dim: 8, num_attention_heads: 2, max_position_embeddings: 64, num_hidden_layers: 3 }, { head_dim: 8, rope_scaling: { rope_type: 'yarn', factor: 2 }, n_positions: 8 });
  const options = fc.oneof(fc.constant({}), fc.record({ layerType: fc.constantFrom('full_attention', 'sliding_attention', 'toString') }), fc.anything());
  always(1500, fc.oneof({ weight: 9, arbitrary: fc.tuple(base, hostile).map(([a, b]) => ({ ...a, ...b })) }, fc.anything()), options, (config, given) => {
    ours(() => ropeLayersFromConfig(config));
    const read = ours(() => ropeFromConfig(config, given));
    if (!read) return;
    JSON.stringify(read);
    using(ours(() => lw.encoding(read.encoding, read.shape)), (e) => assert.ok(e.inverseFrequencies().every((f) => Number.isFinite(f)), JSON.stringify(read)));
  });
});

// Some bytes changed, cut out, or put in; numbers that sizes are made of among them.
const byte = fc.oneof(fc.nat(255), fc.constantFrom(0, 1, 0x7f, 0x80, 0xff, 0x22, 0x2c, 0x30, 0x39, 0x7b, 0x7d));
const mutation = fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom('set', 'set', 'set', 'cut', 'insert'), fc.array(byte, { minLength: 1, maxLength: 8 }));
const mutated = (file, part) => fc.array(mutation, { minLength: 1, maxLength: 4 }).map((changes) => changes.reduce((now, [where, kind, bytes]) => {
  const at = Math.floor(where * Math.min(now.length, part));
  return Uint8Array.from([...now.subarray(0, at), ...(kind === 'cut' ? [] : bytes), ...now.subarray(kind === 'insert' ? at : at + bytes.length)]);
}, file));

const model = lw.model({ vocabulary: 5, width: 4, layers: 2, heads: 2, hidden: 3, trainedLength: 6, encoding: 't5+log_n' });
model.trainer().step([1, 2, 3], { batch: 1, length: 2 });
const own = model.save({ training: true });
const header = 8 + Number(new DataView(own.buffer).getBigUint64(0, true));
const llama = checkpoint({ dim: 4, hidden: 3, layers: 1, heads: 2, kvHeads: 1, vocabulary: 5, length: 4 });
const pieces = tokenizerFile(['he', 'l', 'lo', ' ', '<', 'é']);

for (const [what, file] of Object.entries({
  'a model of ours, its header': mutated(own, header), 'a model of ours': mutated(own, own.length), 'a llama2.c checkpoint, its header': mutated(llama, 28), 'a llama2.c checkpoint': mutated(llama, llama.length),
})) {
  test(`mutated bytes: ${what}`, () => {
    always(400, file, (bytes) => using(ours(() => lw.loadModel(bytes)), (read) => {
      ours(() => read.logits([0, 1, 1]));
      const trainer = ours(() => read.trainer());
      ours(() => trainer?.step([1, 0, 1], { batch: 1, length: 2 }));
      const saved = ours(() => read.save({ training: trainer !== undefined }));
      using(saved && lw.loadModel(saved), (again) => assert.deepEqual(again.config, read.config));
      using(ours(() => read.withEncoding('yarn+window')), (other) => ours(() => other.losses([0, 1, 2])));
      ours(() => read.quantize('int8'));
      ours(() => read.logits([0]));
    }));
  });
}

test('mutated bytes: tokenizers and safetensors', () => {
  always(500, mutated(pieces, pieces.length), fc.string({ unit: 'binary' }), (bytes, text) => {
    const tokenizer = ours(() => new Llama2Tokenizer(bytes));
    if (!tokenizer) return;
    const ids = tokenizer.encode(text);
    assert.ok(ids.every((id) => Number.isInteger(id) && id >= 0 && id < tokenizer.vocabulary));
    assert.equal(typeof tokenizer.decode(ids), 'string');
  });
  always(500, fc.oneof(mutated(own, header), fc.uint8Array()), (bytes) => void ours(() => readSafetensors(bytes)));
});
