// Weights and configs of other implementations; each case names the report that it comes from.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alibiSlopes, load, permuteRotaryRows, positionsFromMask, relativePositionBuckets, ropeFromConfig, ropeLayersFromConfig } from '../../dist/index.js';

const lw = await load({ variant: 'simd' });
const close = (actual, wanted, relative) => {
  assert.equal(actual.length, wanted.length);
  wanted.forEach((value, i) => assert.ok(Math.abs(actual[i] - value) <= relative * Math.abs(value), `[${i}]: ${actual[i]}, not ${value}`));
};
const frequencies = ({ encoding, shape }, length = 1) => using(lw.encoding(encoding, shape), (e) => e.inverseFrequencies({ length }));
const gain = ({ encoding, shape }) => using(lw.encoding(encoding, shape), (e) => {
  const { cos, sin } = e.rotation([3]);
  return Math.hypot(cos[0], sin[0]);
});

test('null, absent, empty and "default" are plain rotation; only a known type demands its keys (ROCm/aiter#4742)', () => {
  const read = (config) => ropeFromConfig({ head_dim: 8, ...config });
  const plain = [
    [{ rope_theta: 500000.0, rope_scaling: null }, 500000], [{ rope_scaling: null }, 10000], [{ rope_theta: 10000 }, 10000],
    [{ rope_parameters: { rope_type: 'default', rope_theta: 1000000, partial_rotary_factor: 1.0 } }, 1000000],
    [{ rope_parameters: null }, 10000], [{ rope_scaling: {} }, 10000],
  ];
  for (const [config, theta] of plain) {
    const { type, theta: read_, encoding } = read(config);
    assert.deepEqual([type, read_], ['default', theta]);
    assert.deepEqual(encoding, { name: 'rope', base: theta, pairing: 'half' });
  }
  const linear = read({ rope_scaling: { type: 'linear', factor: 1 } });
  assert.deepEqual([linear.type, linear.theta, linear.encoding.factor], ['linear', 10000, 1]);
  assert.throws(() => read({ rope_scaling: { rope_type: 'yarn', rope_theta: 10000 } }), /rope_scaling\.factor is missing/);
  assert.throws(() => read({ rope_scaling: { rope_type: 'banana', factor: 2.0 } }), /rope_scaling\.rope_type is 'banana'; allowed: default, linear/);
});

test('NaN and infinities, as Python writes them into a config, matter only where they are read (huggingface/transformers#42959)', () => {
  const plain = { head_dim: 8, num_hidden_layers: 2, max_position_embeddings: 64 };
  assert.deepEqual(ropeFromConfig({ ...plain, time_step_limit: [0, Infinity], a: -Infinity, b: Number.NaN }), ropeFromConfig(plain));
  for (const bad of [Number.NaN, Infinity, -Infinity]) {
    for (const [config, name] of [
      ...['head_dim', 'rope_theta', 'max_position_embeddings', 'partial_rotary_factor', 'rotary_dim', 'num_attention_heads', 'num_key_value_heads', 'hidden_size']
        .map((key) => [{ ...plain, [key]: bad }, key]),
      ...['factor', 'rope_theta', 'original_max_position_embeddings', 'beta_fast', 'attention_factor', 'mscale'].map((key) =>
        [{ ...plain, rope_parameters: { rope_type: 'yarn', factor: 2, [key]: bad } }, `rope_parameters.${key}`]),
      [{ ...plain, rope_scaling: { type: 'longrope', factor: 2, short_factor: [1, bad, 1, 1], long_factor: [1, 1, 1, 1] } }, 'rope_scaling.short_factor[1]'],
    ]) assert.throws(() => ropeFromConfig(config), (error) => error instanceof RangeError && error.message.startsWith(`${name} is ${bad}; `), name);
    assert.throws(() => ropeLayersFromConfig({ ...plain, num_hidden_layers: bad }), RangeError);
  }
});

test('theta inside or at the top, and blocks for each type of layer (vllm-project/vllm#28542)', () => {
  const config = {
    layer_types: ['sliding_attention', 'full_attention'], head_dim: 128,
    rope_parameters: {
      full_attention: { rope_type: 'yarn', rope_theta: 500000.0, factor: 64.0, original_max_position_embeddings: 4096, beta_fast: 64.0, beta_slow: 1.0, attention_factor: 1.0, partial_rotary_factor: 0.5 },
      sliding_attention: { rope_type: 'default', rope_theta: 10000.0, partial_rotary_factor: 1.0 },
    },
  };
  const [sliding, full] = ropeLayersFromConfig(config);
  assert.deepEqual([sliding.type, sliding.theta, sliding.rotaryDim], ['default', 10000, 128]);
  assert.deepEqual([full.type, full.theta, full.rotaryDim, full.encoding.attention_factor], ['yarn', 500000, 64, 1]);
  assert.deepEqual(ropeFromConfig(config, { layerType: 'full_attention' }), full);
  assert.equal(frequencies(full).length, 32);
  assert.ok(Math.abs(gain(full) - 1) < 1e-6);
  assert.throws(() => ropeFromConfig(config), /layerType is missing; this config tells apart full_attention, sliding_attention/);
  assert.throws(() => ropeFromConfig(config, { layerType: 'full' }), /layerType is 'full'/);
});

test('scaling belongs to global layers only (lablup/mlxcel#1340)', () => {
  const config = { head_dim: 256, rope_theta: 1000000.0, rope_local_base_freq: 10000.0, rope_scaling: { rope_type: 'linear', factor: 8.0 }, num_hidden_layers: 7, sliding_window_pattern: 6 };
  const layers = ropeLayersFromConfig(config);
  assert.deepEqual(layers.map((l) => l.type), ['default', 'default', 'default', 'default', 'default', 'linear', 'default']);
  const pick = (all) => [0, 1, 64, 127].map((k) => all[k]);
  close(pick(frequencies(layers[5])), [0.125, 0.1122108916, 0.000125, 1.392467325e-07], 1e-9);
  close(pick(frequencies(layers[0])), [1, 0.9305720409, 0.01, 0.0001074607828], 1e-9);
  assert.throws(() => ropeFromConfig(config), /full_attention, sliding_attention/);
});

test('how much of a head turns, in all spellings, once (vllm-project/vllm#30384)', () => {
  const rows = [
    [{ head_dim: 128, partial_rotary_factor: 0.5 }, 64], [{ head_dim: 128, rotary_dim: 64 }, 64], [{ head_dim: 64, rotary_pct: 0.25 }, 16],
    [{ head_dim: 128, rotary_dim: 64, partial_rotary_factor: 0.5 }, 64], [{ head_dim: 80, partial_rotary_factor: 0.4 }, 32], [{ head_dim: 128 }, 128],
    [{ hidden_size: 2560, num_attention_heads: 32, partial_rotary_factor: 0.4 }, 32],
  ];
  for (const [config, dim] of rows) {
    const read = ropeFromConfig(config);
    assert.equal(read.rotaryDim, dim);
    assert.equal(frequencies(read).length, dim / 2);
  }
  assert.throws(() => ropeFromConfig({ head_dim: 128, rotary_dim: 32, partial_rotary_factor: 0.5 }), /partial_rotary_factor and rotary_dim give 64 and 32/);
  assert.throws(() => ropeFromConfig({ head_dim: 128, rotary_dim: 256 }), /rotary_dim gives 256/);
});

test('YaRN, LongRoPE, Llama 3, dynamic, NTK and proportional as their files say it', () => {
  const shape = { hidden_size: 4096, num_attention_heads: 32, num_key_value_heads: 8, max_position_embeddings: 131072, rope_theta: 500000.0 };
  const llama = ropeFromConfig({ ...shape, rope_scaling: { rope_type: 'llama3', factor: 8.0, low_freq_factor: 1.0, high_freq_factor: 4.0, original_max_position_embeddings: 8192 } });
  assert.deepEqual(llama.shape, { headDim: 128, heads: 32, kvHeads: 8, trainedLength: 8192 });
  const turns = (f) => 8192 * f / (2 * Math.PI);
  frequencies(llama).forEach((f, k) => {
    const plain = 500000 ** (-k / 64);
    if (turns(plain) > 4) close([f], [plain], 1e-12);
    if (turns(plain) < 1) close([f], [plain / 8], 1e-12);
  });
  const oss = ropeFromConfig({ head_dim: 64, max_position_embeddings: 131072, rope_theta: 150000, rope_scaling: { rope_type: 'yarn', factor: 32.0, original_max_position_embeddings: 4096, beta_fast: 32.0, beta_slow: 1.0, truncate: false } });
  close([0, 8, 9, 12, 15, 17, 18, 31].map((k) => frequencies(oss)[k]),
    [1, 0.05081327482, 0.03170569618, 0.00679495949, 0.001052602101, 0.0001293187012, 3.830881237e-05, 3.023511428e-07], 1e-9);
  close([gain(oss)], [1.34657359], 1e-6);
  const phi = { head_dim: 4, max_position_embeddings: 131072, original_max_position_embeddings: 4096, rope_scaling: { type: 'su', short_factor: [1.0, 1.02], long_factor: [1.5, 8.0] } };
  close(frequencies(ropeFromConfig(phi), 4096), [1, 0.009803921569], 1e-9);
  close(frequencies(ropeFromConfig(phi), 4097), [0.6666666667, 0.00125], 1e-9);
  close([gain(ropeFromConfig(phi))], [1.190238071], 1e-6);
  assert.throws(() => lw.encoding(ropeFromConfig({ ...phi, head_dim: 8 }).encoding, { headDim: 8 }), /short_factor has 2 numbers; allowed: 4/);
  const dynamic = ropeFromConfig({ head_dim: 4, max_position_embeddings: 8, rope_scaling: { type: 'dynamic', factor: 2.0 } });
  close(frequencies(dynamic, 16), [1, 90000 ** -0.5], 1e-12);
  close(frequencies(dynamic, 4), [1, 0.01], 1e-12);
  close(frequencies(ropeFromConfig({ head_dim: 4, rope_scaling: { type: 'ntk', factor: 3 } })), [1, 90000 ** -0.5], 1e-12);
  close(frequencies(ropeFromConfig({ head_dim: 4, rope_scaling: { type: 'dynamic', alpha: 3, factor: 1 } })), [1, 90000 ** -0.5], 1e-12);
  assert.deepEqual([...frequencies(ropeFromConfig({ head_dim: 8, rope_parameters: { rope_type: 'proportional', rope_theta: 10000, partial_rotary_factor: 0.5 } }))], [1, 0.1, 0, 0]);
});

test('mscale and mscale_all_dim, with the correction of scores in latent attention (vllm-project/vllm#48623)', () => {
  const read = (model_type, factor, mscale) => ropeFromConfig({ model_type, head_dim: 64, rope_scaling: { type: 'yarn', factor, mscale, mscale_all_dim: mscale, original_max_position_embeddings: 4096 } });
  for (const [config, correction] of [[read('ministral3', 16, 1), 1], [read('deepseek_v2', 40, 0.707), 1.589626165], [read('deepseek_v3', 40, 1), 1.873854207], [read('glm4_moe_lite', 40, 1), 1.873854207]]) {
    close([gain(config)], [1], 1e-6);
    using(lw.encoding(config.encoding, config.shape), (e) => close([e.scoreScale * 8], [correction], 1e-6));
  }
  const alone = ropeFromConfig({ model_type: 'youtu', head_dim: 64, rope_scaling: { type: 'yarn', factor: 40, mscale_all_dim: 1, original_max_position_embeddings: 4096 } });
  close([gain(alone)], [1.368887945], 1e-6); // without mscale the gain stays the usual one
  using(lw.encoding(alone.encoding, alone.shape), (e) => close([e.scoreScale * 8], [1.873854207], 1e-6));
});

test('configs that contradict themselves or lack something are refused', () => {
  const bad = [
    [{ head_dim: 8, rope_scaling: { type: 'linear', rope_type: 'yarn', factor: 2 } }, /rope_type 'yarn' and type 'linear'/],
    [{ head_dim: 8, rope_scaling: { factor: 2 } }, /factor but no rope_type/],
    [{ head_dim: 8, rope_scaling: { type: 'linear', factor: 2 }, rope_parameters: { rope_type: 'linear', factor: 4 } }, /different things/],
    [{ rope_theta: 10000 }, /head_dim is missing/],
    [{ hidden_size: 100, num_attention_heads: 3 }, /multiple of num_attention_heads/],
    [{ head_dim: 8, rope_scaling: { type: 'llama3', factor: 8, low_freq_factor: 1, high_freq_factor: 4 } }, /original_max_position_embeddings is missing/],
    [{ head_dim: 8, rope_scaling: { type: 'longrope', factor: 2, original_max_position_embeddings: 8, long_factor: [1, 1, 1, 1] } }, /short_factor is missing/],
  ];
  for (const [config, sentence] of bad) assert.throws(() => ropeFromConfig(config), (error) => error instanceof RangeError && sentence.test(error.message), JSON.stringify(config));
  for (const config of [null, 'x', { head_dim: '8' }, { head_dim: 8, rope_scaling: 'yarn' }, { head_dim: 8, rope_theta: '1e4' }]) assert.throws(() => ropeFromConfig(config), TypeError);
  assert.throws(() => ropeFromConfig({ head_dim: 8 }, { layer: 1 }), TypeError);
  const both = { head_dim: 8, rope_scaling: { type: 'linear', factor: 2 }, rope_parameters: { rope_type: 'linear', factor: 2 } };
  assert.equal(ropeFromConfig(both).encoding.factor, 2);
  assert.equal(ropeFromConfig({ text_config: { head_dim: 8, rope_theta: 5 } }).theta, 5);
});

test('the pairing of a model type, as its code in transformers has it (tests/oracle/compare_public.py)', () => {
  const pairing = (config) => ropeFromConfig({ head_dim: 8, ...config }).encoding.pairing;
  for (const model_type of ['gptj', 'cohere2_moe', 'deepseek_v3', 'ernie4_5', 'helium', 'llama4']) assert.equal(pairing({ model_type }), 'interleaved', model_type);
  for (const model_type of ['llama', 'gpt_neox', 'minicpm3', 'glm4_moe']) assert.equal(pairing({ model_type }), 'half', model_type);
  assert.equal(pairing({ model_type: 'glm4v', text_config: { model_type: 'glm4v_text' } }), 'interleaved');
  assert.equal(pairing({ model_type: 'deepseek_v3', rope_interleave: false }), 'half');
  assert.equal(pairing({ model_type: 'deepseek_v3', rope_interleave: null }), 'interleaved');
  assert.equal(pairing({ model_type: 'anything', rope_interleave: true }), 'interleaved');
  assert.throws(() => pairing({ rope_interleave: 'yes' }), TypeError);
});

test('layers without positions (Llama 4, SmolLM3)', () => {
  const config = { hidden_size: 64, num_attention_heads: 4, max_position_embeddings: 128, num_hidden_layers: 4 };
  const names = (more) => ropeLayersFromConfig({ ...config, ...more }).map((layer) => layer.encoding.name);
  assert.deepEqual(names({ no_rope_layers: [1, 1, 1, 0] }), ['rope', 'rope', 'rope', 'nope']);
  assert.deepEqual(names({ no_rope_layer_interval: 2 }), ['rope', 'nope', 'rope', 'nope']);
  assert.throws(() => names({ no_rope_layers: [1] }), /no_rope_layers has 1 elements/);
  assert.equal(ropeFromConfig({ ...config, rotary_dim: 5 }).rotaryDim, 4);
  assert.throws(() => ropeFromConfig({ ...config, alibi: true }), /alibi is true/);
  assert.throws(() => ropeFromConfig({ ...config, position_embedding_type: 'absolute' }), /position_embedding_type is .*absolute/);
  assert.equal(ropeFromConfig({ ...config, alibi: false, position_embedding_type: 'rotary' }).encoding.name, 'rope');
});

test('what a config leaves out is what models of its type take', () => {
  // Gemma 3 12B as it is published: rope_theta, head_dim, the local base and the pattern are its class's.
  const gemma = ropeLayersFromConfig({ model_type: 'gemma3', text_config: {
    model_type: 'gemma3_text', hidden_size: 3840, num_attention_heads: 16, num_key_value_heads: 8, num_hidden_layers: 48,
    rope_scaling: { factor: 8, rope_type: 'linear' }, sliding_window: 1024 } });
  gemma.forEach(({ encoding, shape }, i) => {
    const full = (i + 1) % 6 === 0;
    assert.deepEqual([encoding.base, encoding.factor, shape.headDim, shape.kvHeads], [full ? 1e6 : 1e4, full ? 8 : undefined, 256, 8]);
  });
  const heads = { hidden_size: 768, num_attention_heads: 12, num_hidden_layers: 22 };
  const bert = { model_type: 'modernbert', ...heads, global_attn_every_n_layers: 3, global_rope_theta: 160000, local_rope_theta: 10000, position_embedding_type: 'absolute' };
  const bases = Array.from({ length: 22 }, (_, i) => (i % 3 ? 1e4 : 16e4));
  assert.deepEqual(ropeLayersFromConfig(bert).map(({ theta }) => theta), bases);
  assert.deepEqual(ropeLayersFromConfig({ model_type: 'modernbert', ...heads }).map(({ theta }) => theta), bases);
  const read = (model_type, more) => { const { theta, rotaryDim, shape } = ropeFromConfig({ model_type, ...heads, ...more }); return [theta, rotaryDim, shape.headDim]; };
  assert.deepEqual(read('mixtral'), [1e6, 64, 64]);
  assert.deepEqual(read('qwen3'), [1e4, 128, 128]);
  assert.deepEqual(read('qwen3', { head_dim: null }), [1e4, 64, 64]);
  assert.deepEqual(read('qwen3', { head_dim: 32, rope_theta: 5 }), [5, 32, 32]);
  assert.deepEqual(read('gpt_neox'), [1e4, 16, 64]);
  assert.deepEqual(read('phi', { partial_rotary_factor: 1 }), [1e4, 64, 64]);
  assert.deepEqual(read('llama'), [1e4, 64, 64]);
  assert.throws(() => read('olmo3'), /rope_theta is missing; models of type 'olmo3'/);
  for (const type of ['gpt2', 'opt', 'bloom']) assert.throws(() => read(type), new RegExp(`model_type is '${type}'; allowed: a config of a model that rotates`));
  const kvHeads = (more) => ropeFromConfig({ model_type: 'falcon', ...heads, ...more }).shape.kvHeads;
  assert.deepEqual([kvHeads({ multi_query: true }), kvHeads({ multi_query: true, new_decoder_architecture: true, num_kv_heads: 4 }), kvHeads({})], [1, 4, undefined]);
});

test('layers with full attention do not turn in Cohere 2 and EXAONE 4', () => {
  const config = { hidden_size: 64, num_attention_heads: 4, num_hidden_layers: 5, rope_theta: 5e4 };
  const names = (more) => ropeLayersFromConfig({ ...config, ...more }).map(({ encoding }) => encoding.name);
  const [sliding, full] = ['sliding_attention', 'full_attention'];
  for (const model_type of ['cohere2', 'exaone4']) {
    const wanted = ['rope', 'rope', 'rope', 'nope', 'rope'];
    assert.deepEqual(names({ model_type }), wanted);
    assert.deepEqual(names({ model_type, sliding_window_pattern: 2 }), ['rope', 'nope', 'rope', 'nope', 'rope']);
    assert.deepEqual(names({ model_type, layer_types: [sliding, sliding, sliding, full, sliding] }), wanted);
  }
  assert.deepEqual(names({ model_type: 'exaone4', sliding_window: null }), Array(5).fill('rope'));
  assert.deepEqual(names({ model_type: 'gpt_oss', layer_types: [sliding, full, sliding, full, sliding], head_dim: 16 }), Array(5).fill('rope'));
});

test('Llama 4: low and high alike, nothing between them', () => {
  const config = ropeFromConfig({ model_type: 'llama4_text', hidden_size: 5120, num_attention_heads: 40, rope_theta: 5e5,
    rope_scaling: { rope_type: 'llama3', factor: 16, low_freq_factor: 1, high_freq_factor: 1, original_max_position_embeddings: 8192 } });
  assert.equal(config.shape.headDim, 128);
  close(frequencies(config), Array.from({ length: 64 }, (_, k) => { const f = 5e5 ** (-k / 64); return 8192 * f > 2 * Math.PI ? f : f / 16; }), 1e-9);
});

test('rows of q and k move between the pairings; k by its own heads (huggingface/transformers#31788)', () => {
  const rows = [0, 1, 2, 3, 4, 5, 6, 7];
  const k = { headDim: 4, columns: 1, from: 'interleaved', to: 'half' };
  assert.deepEqual(permuteRotaryRows(rows, { ...k, heads: 2 }), [0, 2, 1, 3, 4, 6, 5, 7]);
  assert.throws(() => permuteRotaryRows(rows, { ...k, heads: 4 }), /data has 8 elements; \[4 heads · 4\]\[1\] needs 16/);
  const file = Buffer.from(rows); // its slice() shares memory
  assert.deepEqual([...permuteRotaryRows(file, { ...k, heads: 2 })], [0, 2, 1, 3, 4, 6, 5, 7]);
  assert.deepEqual([...file], rows);
  const weights = Float32Array.from({ length: 8 * 3 }, (_, i) => i);
  const there = permuteRotaryRows(weights, { ...k, heads: 2, columns: 3 });
  assert.deepEqual([...there.subarray(3, 9)], [6, 7, 8, 3, 4, 5]);
  assert.deepEqual(permuteRotaryRows(there, { ...k, heads: 2, columns: 3, from: 'half', to: 'interleaved' }), weights);
  assert.deepEqual(permuteRotaryRows(rows, { ...k, heads: 1, headDim: 8, rotaryDim: 4 }), [0, 2, 1, 3, 4, 5, 6, 7]);
  // Permuted and turned in halves is turned in neighbours and permuted.
  const x = rows.map((d) => Math.sin(d + 1));
  const turned = (pairing, v) => using(lw.encoding({ name: 'rope', pairing }, { headDim: 8 }), (e) => [...e.rotate(v, 3)]);
  const move = (v) => permuteRotaryRows(v, { ...k, heads: 1, headDim: 8 });
  close(turned('half', move(x)), move(turned('interleaved', x)), 1e-6);
});

test('positions of padded rows (unslothai/unsloth#3803, huggingface/sentence-transformers#3879)', () => {
  const masks = [[0, 0, 1, 1], [1, 1, 1, 1], [0, 1, 1, 1]];
  const real = masks.map((mask) => positionsFromMask(mask));
  assert.deepEqual(real.map(({ positions }, i) => [...positions].filter((_, j) => masks[i][j])), [[0, 1], [0, 1, 2, 3], [0, 1, 2]]);
  assert.deepEqual(real.map(({ next }) => next), [2, 4, 3]);
  const roberta = (ids) => [...positionsFromMask(ids.map((id) => id !== 1), { first: 2 }).positions];
  assert.deepEqual([roberta([0, 31414, 232, 2, 1, 1]), roberta([1, 1, 0, 31414, 232, 2])], [[2, 3, 4, 5, 1, 1], [1, 1, 2, 3, 4, 5]]);
  assert.deepEqual([...positionsFromMask(BigInt64Array.of(0n, 0n, 1n, 1n, 1n), { first: 2 }).positions], [1, 1, 2, 3, 4]);
  assert.equal(positionsFromMask(new Array(512).fill(1), { first: 2, rows: 514 }).next, 514);
  assert.throws(() => positionsFromMask(new Array(513).fill(1), { first: 2, rows: 514 }), /mask has 513 tokens; a table of 514 rows holds 512/);
  assert.throws(() => positionsFromMask([0, 2]), /mask\[1\] is 2/);
  assert.throws(() => positionsFromMask(null), TypeError);
});

test('slopes and buckets', () => {
  close(alibiSlopes(lw, 3), [0.0625, 0.00390625, 0.25], 1e-7);
  close(alibiSlopes(lw, 12).slice(8), [0.7071067812, 0.3535533906, 0.1767766953, 0.08838834765], 1e-7);
  const buckets = (relative, options) => [...relativePositionBuckets(lw, relative, options)];
  assert.deepEqual(buckets([0, 1, 2, 9, -1, -9, -1000]), [0, 17, 18, 24, 1, 8, 15]);
  assert.deepEqual(buckets([3, 0, -15, -16, -31, -32, -64, -128], { bidirectional: false }), [0, 0, 15, 16, 21, 21, 26, 31]);
  const many = buckets(Array.from({ length: 1000 }, (_, i) => -i), { bidirectional: false });
  assert.deepEqual([many[255], many[256], many[999], many[20]], [31, 31, 31, buckets([-20], { bidirectional: false })[0]]);
  assert.deepEqual(buckets([]), []);
  assert.throws(() => buckets([0.5]), RangeError);
});

test('cached keys move without another gain (ggml-org/llama.cpp#3835)', () => {
  const x = [1, 2, 3, 4, 5, 6, 7, 8];
  const first = [2.357247778, -1.737183611, 2.574853574, 3.951928288, 4.521435935, 6.081298636, 7.167295799, 8.023855856];
  using(lw.encoding('rope:pairing=half', { headDim: 8 }), (rope) => {
    const once = rope.reposition(rope.rotate(x, 10), 10, 6);
    close(once, first, 1e-5);
    close(rope.reposition(once, 6, 4), [3.130368856, -0.4943880658, 2.717674981, 3.967968085, -4.0250206, 6.305202649, 7.114368749, 8.015935957], 1e-5);
  });
  for (const spec of ['yarn', 'xpos:center=100', 'ntk', 'llama3', 'rope:fraction=0.5']) {
    using(lw.encoding(spec, { headDim: 8 }), (e) => {
      const at = (position) => e.rotate(x, position, { side: 'key' });
      close(e.reposition(e.reposition(at(50), 50, 46), [46], [3]), at(3), 1e-5);
    });
  }
  using(lw.encoding('dynamic_ntk', { headDim: 8 }), (e) => assert.throws(() => e.reposition(x, 1, 0), /keep them unrotated/));
});

test('turns of keys and of queries', () => {
  using(lw.encoding('xpos', { headDim: 8 }), (xpos) => {
    const [q, k] = ['query', 'key'].map((side) => xpos.rotation([40], { side }));
    q.cos.forEach((c, i) => close([Math.hypot(c, q.sin[i]) * Math.hypot(k.cos[i], k.sin[i])], [1], 1e-6));
    assert.ok(Math.hypot(q.cos[0], q.sin[0]) < 0.95);
    assert.throws(() => xpos.rotation(100000), /allowed with xpos/);
  });
  using(lw.encoding('nope', { headDim: 8 }), (nope) => assert.equal(nope.inverseFrequencies().length, 0));
});

test('options that are lists', () => {
  using(lw.encoding({ name: 'longrope', long_factor: [2, 4.5] }, { headDim: 4, trainedLength: 8 }), (e) => {
    assert.equal(e.spec, 'longrope:long_factor=2;4.5');
    close(e.inverseFrequencies({ length: 9 }), [1 / 2, 0.01 / 4.5], 1e-12);
    close(e.rotation(9, { length: 8 }).sin.slice(2, 4), using(lw.encoding('longrope', { headDim: 4, trainedLength: 8 }), (f) => f.rotation(2).sin.slice(2, 4)), 1e-7);
  });
  assert.throws(() => lw.encoding({ name: 'longrope', long_factor: [2, Number.NaN] }, { headDim: 4 }), /long_factor\[1\] is NaN/);
  assert.throws(() => lw.encoding({ name: 'longrope', long_factor: [] }, { headDim: 4 }), TypeError);
  assert.deepEqual(lw.encodings().find((e) => e.name === 'longrope').options.find((o) => o.name === 'long_factor').default, []);
});

function using(thing, work) {
  try {
    return work(thing);
  } finally {
    thing.dispose();
  }
}

test('M-RoPE: the encoding is that of text, and the rest is said', () => {
  const vision = (block, more) => ropeFromConfig({ head_dim: 128, rope_theta: 1000000, ...more, rope_scaling: block });
  const uneven = vision({ type: 'mrope', mrope_section: [16, 24, 24] }); // Qwen2-VL
  assert.deepEqual([uneven.type, uneven.encoding, uneven.grid], ['default', { name: 'rope', base: 1000000, pairing: 'half' }, undefined]);
  assert.match(uneven.notice, /rope_scaling\.mrope_section is \[16, 24, 24\].*grid has equal shares/);
  const even = vision({ rope_type: 'default', mrope_section: [2, 2, 2], mrope_interleaved: true }, { head_dim: 12 });
  assert.deepEqual([even.grid, even.notice], [{ name: 'grid', dimensions: 3, split: 'alternating' }, undefined]);
  using(lw.encoding([{ ...even.grid, rows: 2, columns: 2, text: 1 }, even.encoding], even.shape), (e) => assert.equal(e.rotation(5).pairs, 6));
  assert.deepEqual(vision({ type: 'mrope', mrope_section: [3, 3] }, { head_dim: 12 }).grid, { name: 'grid', dimensions: 2, split: 'blocks' });
  assert.throws(() => vision({ type: 'mrope', mrope_section: [16, 24, 23] }), /mrope_section has 63 pairs in all; allowed: 64/);
  assert.throws(() => vision({ type: 'mrope', mrope_section: 64 }), TypeError);
  assert.equal(ropeFromConfig({ head_dim: 8 }).notice, undefined);
});

test('what a config says twice must agree, and every layer has its type', () => {
  assert.throws(() => ropeFromConfig({ head_dim: 8, rope_theta: 10000, rope_parameters: { rope_theta: 500000 } }), /rope_parameters\.rope_theta is 500000 and rope_theta is 10000; allowed: both alike, or one/);
  assert.throws(() => ropeFromConfig({ head_dim: 8, rope_theta: 10000, rotary_emb_base: 20000 }), /rope_theta is 10000 and rotary_emb_base is 20000/);
  assert.equal(ropeFromConfig({ head_dim: 8, rope_theta: 5, rope_parameters: { rope_theta: 5 } }).theta, 5);
  const layered = { head_dim: 8, rope_theta: 7, rope_parameters: { full_attention: { rope_theta: 5 }, sliding_attention: {} } };
  assert.deepEqual(['full_attention', 'sliding_attention'].map((layerType) => ropeFromConfig(layered, { layerType }).theta), [5, 7], 'the outer one is for blocks that have none');
  const types = { head_dim: 8, num_hidden_layers: 3, layer_types: ['full_attention', 'full_attention'] };
  assert.throws(() => ropeLayersFromConfig(types), /layer_types.*2.*3 layers/);
  assert.equal(ropeLayersFromConfig({ ...types, num_hidden_layers: 2 }).length, 2);
});

test('a gain of zero would silence all heads', () => {
  const yarn = { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 64 };
  for (const attention_factor of [0, -1]) {
    assert.throws(() => ropeFromConfig({ head_dim: 8, rope_scaling: { ...yarn, attention_factor } }), new RegExp(`rope_scaling\\.attention_factor is ${attention_factor}; allowed: above 0`));
  }
  const long = { rope_type: 'longrope', short_factor: [1, 1], long_factor: [1, 1], original_max_position_embeddings: 64, factor: 2 };
  assert.throws(() => ropeFromConfig({ head_dim: 4, rope_scaling: { ...long, attention_factor: 0 } }), /attention_factor is 0; allowed: above 0/);
  assert.throws(() => ropeFromConfig({ head_dim: 4, rope_scaling: { ...long, short_mscale: 0, long_mscale: 0 } }), /short_mscale is 0; allowed: above 0/);
  assert.equal(ropeFromConfig({ head_dim: 8, rope_scaling: { ...yarn, attention_factor: null } }).encoding.attention_factor, undefined);
});
