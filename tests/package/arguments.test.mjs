// Whatever is handed to a public function by mistake, the error names the parameter.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MODEL_KEYS, TRAIN_KEYS } from '../../dist/config.js';
import { SHAPE_KEYS } from '../../dist/encoding.js';
import * as lengthwise from '../../dist/index.js';
import { GENERATE_KEYS } from '../../dist/model.js';
import { load as loadRemote } from '../../dist/remote.js';
import { tokenizerFile } from './llama2-files.mjs';

const { ByteTokenizer, experiment, Llama2Tokenizer, load, readSafetensors, splitText, tensorFloats, writeSafetensors } = lengthwise;
const lw = await load({ variant: 'simd' });
const rope = lw.encoding('rope', { headDim: 4 });
const t5 = lw.encoding('t5', { headDim: 4 });
const model = lw.model({ vocabulary: 17, width: 8, layers: 1, heads: 2, trainedLength: 8 });
const trainer = model.trainer();
const [bytes, pieces] = [new ByteTokenizer(), new Llama2Tokenizer(tokenizerFile(['a', 'b']))];
const x = new Float32Array(4);
const tensor = { dtype: 'F32', shape: [1], bytes: new Uint8Array(4) };
const tiny = { encodings: ['nope'], task: 'copy', trainLength: 8, steps: 1, batch: 1, workers: 0, testTokens: 8, model: { width: 8, layers: 1, heads: 1 } };
const { rows, columns } = Object.values(t5.parameters)[0];
const name = Object.keys(t5.parameters)[0];

// [what, the call with one parameter left open, what its errors name, what of BAD it may take]
const BAD = { null: null, undefined, 5: 5, x: 'x', '[]': [], '{}': {} };
const CALLS = [
  ['load(options)', (bad) => load(bad), /load options/, ['undefined', '{}']],
  ['load(wasmBinary)', (bad) => load({ wasmBinary: bad }), /wasmBinary/, ['undefined']],
  ['load(variant)', (bad) => load({ variant: bad }), /variant/, ['undefined', 'null']],
  ['load(inferenceOnly)', (bad) => load({ inferenceOnly: bad }), /inferenceOnly/, ['undefined', 'null', 'true', 'false']],
  ['load(wasmUrl)', (bad) => load({ wasmUrl: bad }), /wasmUrl|http|file/, ['undefined', 'null']],
  ['worker load(options)', async (bad) => (await loadRemote(bad)).terminate(), /load options/, ['undefined', '{}']],
  ['worker load(createWorker)', async (bad) => (await loadRemote({ createWorker: bad })).terminate(), /createWorker/, ['undefined']],
  ['encodings(texts)', (bad) => lw.encodings(bad), /texts/, ['undefined']],
  ['encoding(spec)', (bad) => lw.encoding(bad), /encoding/],
  ['encoding(shape)', (bad) => lw.encoding('nope', bad), /shape/, ['undefined', '{}']],
  ['attention(q)', (bad) => lw.attention(bad, x, x, { headDim: 4 }), /^q/],
  ['attention(k)', (bad) => lw.attention(x, bad, x, { headDim: 4 }), /^k/],
  ['attention(v)', (bad) => lw.attention(x, x, bad, { headDim: 4 }), /^v/],
  ['attention(options)', (bad) => lw.attention(x, x, x, bad), /attention options|q has/],
  ['attention(positions)', (bad) => rope.attention(x, x, x, { positions: bad }), /positions/, ['undefined']],
  ['attention(offset)', (bad) => rope.attention(x, x, x, { offset: bad }), /offset/, ['undefined', '5']],
  ['attention(x)', (bad) => rope.attention(x, x, x, { x: bad }), /^x/, ['undefined']],
  ['Encoding.attention(options)', (bad) => rope.attention(x, x, x, bad), /attention options/, ['undefined', '{}']],
  ['model(config)', (bad) => lw.model(bad), /config/, ['undefined', '{}']],
  ['model(options)', (bad) => lw.model({}, bad), /model options/, ['undefined', '{}']],
  ['model(encoding)', (bad) => lw.model({ encoding: bad }), /encoding/, ['undefined', 'null']],
  ['model(encoding.layers)', (bad) => lw.model({ encoding: { layers: bad } }), /encoding\.layers/],
  ['loadModel(file)', (bad) => lw.loadModel(bad), /file/],
  ...['positions', 'table', 'rotation', 'scale'].map((method) => [`${method}(tokens)`, (bad) => rope[method](bad), /tokens/, ['5']]),
  ...['bias', 'pattern'].map((method) => [`${method}(scores)`, (bad) => rope[method](bad), /scores|queries/, ['5']]),
  ...['bias', 'pattern'].map((method) => [`${method}(positions)`, (bad) => rope[method]({ queries: 2, positions: bad }), /positions/, ['undefined']]),
  ['rotate(x)', (bad) => rope.rotate(bad, 0), /^x/],
  ['rotate(positions)', (bad) => rope.rotate(x, bad), /positions/, ['5']],
  ['rotate(options)', (bad) => rope.rotate(x, 0, bad), /rotate options/, ['undefined', '{}']],
  ['inverseFrequencies(options)', (bad) => rope.inverseFrequencies(bad), /inverseFrequencies options/, ['undefined', '{}']],
  ['rotation(options)', (bad) => rope.rotation(1, bad), /rotation options/, ['undefined', '{}']],
  ['reposition(x)', (bad) => rope.reposition(bad, 0, 1), /^x/],
  ['reposition(from)', (bad) => rope.reposition(x, bad, 1), /from/, ['5']],
  ['reposition(to)', (bad) => rope.reposition(x, 1, bad), /to/, ['5']],
  ['reposition(options)', (bad) => rope.reposition(x, 0, 1, bad), /reposition options/, ['undefined', '{}']],
  ['ropeFromConfig(config)', (bad) => lengthwise.ropeFromConfig(bad), /config|head_dim/],
  ['ropeFromConfig(options)', (bad) => lengthwise.ropeFromConfig({ head_dim: 4 }, bad), /ropeFromConfig options/, ['undefined', '{}']],
  ['ropeLayersFromConfig(config)', (bad) => lengthwise.ropeLayersFromConfig(bad), /config|num_hidden_layers/],
  ['ropeLayersFromConfig(options)', (bad) => lengthwise.ropeLayersFromConfig({ head_dim: 4, n_layer: 1 }, bad), /ropeLayersFromConfig options/, ['undefined', '{}']],
  ['alibiSlopes(lw)', (bad) => lengthwise.alibiSlopes(bad, 2), /lw/],
  ['alibiSlopes(heads)', (bad) => lengthwise.alibiSlopes(lw, bad), /heads/, ['5']],
  ['relativePositionBuckets(lw)', (bad) => lengthwise.relativePositionBuckets(bad, [1]), /lw/],
  ['relativePositionBuckets(relativePositions)', (bad) => lengthwise.relativePositionBuckets(lw, bad), /relativePositions/, ['[]']],
  ['relativePositionBuckets(options)', (bad) => lengthwise.relativePositionBuckets(lw, [1], bad), /relativePositionBuckets options/, ['undefined', '{}']],
  ['permuteRotaryRows(data)', (bad) => lengthwise.permuteRotaryRows(bad, { heads: 1, headDim: 4, columns: 1, from: 'half', to: 'interleaved' }), /data/],
  ['permuteRotaryRows(options)', (bad) => lengthwise.permuteRotaryRows(x, bad), /permuteRotaryRows options|heads/],
  ['positionsFromMask(mask)', (bad) => lengthwise.positionsFromMask(bad), /mask/, ['[]']],
  ['positionsFromMask(options)', (bad) => lengthwise.positionsFromMask([1], bad), /positionsFromMask options/, ['undefined', '{}']],
  ['setParameter(name)', (bad) => t5.setParameter(bad, x), /name/],
  ['setParameter(data)', (bad) => t5.setParameter(name, bad), new RegExp(name)],
  ['logits(tokens)', (bad) => model.logits(bad), /tokens/],
  ['losses(tokens)', (bad) => model.losses(bad), /tokens/],
  ['generate(prompt)', (bad) => model.generate(bad).next(), /prompt/],
  ['generate(options)', (bad) => model.generate([1], bad).next(), /generate options/, ['undefined', '{}']],
  ['generate(signal)', (bad) => model.generate([1], { signal: bad }).next(), /signal/, ['undefined']],
  ['trainer(options)', (bad) => model.trainer(bad), /training options/, ['undefined', '{}']],
  ['step(tokens)', (bad) => model.trainer().step(bad, { batch: 1, length: 1 }), /tokens/],
  ['step(shape)', (bad) => model.trainer().step([1, 2], bad), /step options|batch/],
  ['step(mask)', (bad) => model.trainer().step([1, 2], { batch: 1, length: 1, mask: bad }), /mask/, ['undefined']],
  ['tensor(name)', (bad) => model.tensor(bad), /name/],
  ['withEncoding(encoding)', (bad) => model.withEncoding(bad), /encoding/],
  ['withEncoding(encoding.layers)', (bad) => model.withEncoding({ layers: bad }), /encoding\.layers/],
  ['quantize(precision)', (bad) => model.quantize(bad), /precision/],
  ['save(options)', (bad) => model.save(bad), /save options/, ['undefined', '{}']],
  ['save(metadata)', (bad) => model.save({ metadata: bad }), /metadata/, ['undefined', '{}']],
  ['experiment(options)', (bad) => experiment(bad).finished, /experiment options|encodings|text/],
  ...['model', 'training', 'fineTuning'].map((key) => [`experiment(${key})`, (bad) => experiment({ ...tiny, [key]: bad }).finished, new RegExp(`^${key}`), ['undefined', '{}']]),
  ...['encodings', 'testLengths', 'signal', 'onProgress', 'createWorker'].map((key) =>
    [`experiment(${key})`, (bad) => experiment({ ...tiny, [key]: bad }).finished, new RegExp(key), key === 'encodings' ? [] : ['undefined']]),
  ['experiment(text)', (bad) => experiment({ ...tiny, task: 'text', text: bad }).finished, /text/],
  ['experiment(text.train)', (bad) => experiment({ ...tiny, task: 'text', text: { train: bad, test: 'some words to test' } }).finished, /text/],
  ['experiment(workers)', (bad) => experiment({ ...tiny, workers: bad }).finished, /workers/, ['undefined', '5']],
  ['phases(spec)', (bad) => lengthwise.phases(bad), /^spec/, ['x']],
  ['importEncoding(module)', (bad) => lengthwise.importEncoding(bad), /encoding/],
  ['splitText(text)', (bad) => splitText(bad), /text/],
  ['splitText(options)', (bad) => splitText('a text', bad), /split options/, ['undefined', '{}']],
  ...[bytes, pieces].flatMap((tokenizer) => [
    ['encode(text)', (bad) => tokenizer.encode(bad), /text/, ['x']],
    ['encode(options)', (bad) => tokenizer.encode('a', bad), /encode options/, ['undefined', '{}']],
    ['decode(tokens)', (bad) => tokenizer.decode(bad), /tokens/, ['[]']],
  ]),
  ['Llama2Tokenizer(file)', (bad) => new Llama2Tokenizer(bad), /file/],
  ['Llama2Tokenizer(vocabulary)', (bad) => new Llama2Tokenizer(tokenizerFile(['a']), bad), /vocabulary|pieces/, ['undefined']],
  ['readSafetensors(file)', (bad) => readSafetensors(bad), /file/],
  ['tensorFloats(name)', (bad) => tensorFloats(bad, tensor), /name/, ['x']],
  ['tensorFloats(tensor)', (bad) => tensorFloats('a', bad), /tensor/],
  ['writeSafetensors(contents)', (bad) => writeSafetensors(bad), /contents|metadata/],
  ['writeSafetensors(metadata)', (bad) => writeSafetensors({ metadata: bad, tensors: new Map() }), /metadata/, ['{}']],
  ['writeSafetensors(tensors)', (bad) => writeSafetensors({ metadata: {}, tensors: bad }), /tensors/],
  ['writeSafetensors(a tensor)', (bad) => writeSafetensors({ metadata: {}, tensors: new Map([['a', bad]]) }), /tensor 'a'/],
  ['register(encoding)', (bad) => lw.register(bad), /encoding|name/],
  ['register(name)', (bad) => lw.register({ name: bad, bias: () => 0 }), /name/, ['x']],
  ['register(bias)', (bad) => lw.register({ name: 'unfit', bias: bad }), /unfit/],
  ['register(options)', (bad) => lw.register({ name: 'fit', bias: () => 0 }, bad), /register options|"fit"/, ['undefined']],
  ['unregister(name)', (bad) => lw.unregister(bad), /name/, ['x']],
  ['audit(encoding)', (bad) => lw.audit(bad), /encoding/],
  ['audit(shape)', (bad) => lw.audit('alibi', bad), /shape/, ['undefined', '{}']],
  ['Encoding.setTokens(tokens)', (bad) => lw.encoding('digits', { heads: 1 }).setTokens(bad), /tokens/],
];

for (const [what, call, named, fine = []] of CALLS) {
  test(what, async () => {
    for (const [key, bad] of Object.entries(BAD)) {
      if (fine.includes(key)) await call(bad);
      else await assert.rejects(async () => call(bad), (error) => {
        assert.match(error.message, named, `${key}: ${error.stack}`);
        assert.ok(['TypeError', 'RangeError', 'FormatError', 'LoadError'].includes(error.name), `${key}: ${error.stack}`);
        assert.doesNotMatch(error.message, /Cannot|is not (iterable|a function)|undefined \(/, key);
        return true;
      });
    }
  });
}

// Release builds of Embind take −1 for 4294967295, NaN for 0, 3.7 for 3 and 2³² + 5 for 5 (emscripten-core/emscripten#15476).
// [the call with one number left open, the numbers that it may be; of parameters that may be left out, `optional`]
const NUMBERS = { '-1': -1, NaN: Number.NaN, Infinity, '3.7': 3.7, '2³² + 5': 2 ** 32 + 5, '2⁵³': 2 ** 53, '"8"': '8', '8n': 8n, '[8]': [8], true: true, undefined, null: null };
const optional = ['undefined', 'null'], large = ['2³² + 5', ...optional];
const small = { vocabulary: 9, width: 8, layers: 1, heads: 2 };
const alibi = lw.encoding('alibi', { heads: 2, headDim: 4 });
const own = (more) => lw.register({ name: 'of_mine', bias: () => 0, ...more }, { replace: true });
const draw = (key) => async (bad) => (await model.generate([1], { tokens: 1, [key]: bad }).next()).value;
const train = (key) => (bad) => model.trainer({ [key]: bad });
const try_ = (key) => async (bad) => { const run = experiment({ ...tiny, [key]: bad }); await run.finished; };
const CROSSING = {
  ...Object.fromEntries(['heads', 'kvHeads', 'headDim', 'trainedLength'].map((key) => [`shape.${key}`, [(bad) => lw.encoding('alibi', { [key]: bad }), optional]])),
  'shape.width': [(bad) => lw.encoding('alibi', { width: bad }), ['undefined']],
  'shape.seed': [(bad) => lw.encoding('t5', { seed: bad }), large],
  ...Object.fromEntries(['heads', 'trainedLength'].map((key) => [`audit.${key}`, [(bad) => lw.audit('alibi', { [key]: bad }), optional]])),
  ...Object.fromEntries(['table', 'scale', 'positions', 'rotation'].map((method) => [`${method}(tokens)`, [(bad) => alibi[method](bad), ['[8]'], /tokens/]])),
  ...Object.fromEntries(['bias', 'pattern'].map((method) => [`${method}(scores)`, [(bad) => alibi[method](bad), [], /scores/]])),
  ...Object.fromEntries(['table', 'scale', 'positions', 'rotation'].map((method) => [`${method}([tokens])`, [(bad) => alibi[method]([bad]), ['-1', '3.7', '2³² + 5'], /tokens\[0\]/]])),
  'rotation.length': [(bad) => rope.rotation(1, { length: bad }), optional],
  'inverseFrequencies.length': [(bad) => rope.inverseFrequencies({ length: bad }), optional],
  ...Object.fromEntries(['queries', 'keys'].flatMap((key) => ['bias', 'pattern'].map((method) => [`${method}.${key}`, [(bad) => alibi[method]({ queries: 1, keys: 1, [key]: bad }), optional]]))),
  ...Object.fromEntries(['bias', 'pattern'].map((method) => [`${method}.offset`, [(bad) => alibi[method]({ queries: 1, keys: 1, offset: bad }), ['-1', 'undefined']]])),
  'rotate(positions)': [(bad) => rope.rotate(x, bad), ['-1', '2³² + 5', '[8]'], /positions/],
  'rotate.heads': [(bad) => rope.rotate(x, 0, { heads: bad }), optional, /heads|x has/],
  'rotate.length': [(bad) => rope.rotate(x, 0, { length: bad }), optional],
  'reposition(from)': [(bad) => rope.reposition(x, bad, 0), ['-1', '2³² + 5', '[8]'], /from/],
  'reposition(to)': [(bad) => rope.reposition(x, 0, bad), ['-1', '2³² + 5', '[8]'], /to/],
  'reposition.heads': [(bad) => rope.reposition(x, 0, 1, { heads: bad }), optional, /heads|x has/],
  'attention.offset': [(bad) => alibi.attention(new Float32Array(8), new Float32Array(8), new Float32Array(8), { offset: bad }), ['-1', 'undefined']],
  'attention.positions[0]': [(bad) => rope.attention(x, x, x, { positions: [bad] }), ['-1', '3.7', '2³² + 5'], /positions\[0\]/],
  'attention.q[0]': [(bad) => rope.attention([bad, 0, 0, 0], x, x), ['-1', 'NaN', 'Infinity', '3.7', '2³² + 5', '2⁵³'], /q\[0\]/],
  'setTokens(tokens[0])': [(bad) => lw.encoding('digits').setTokens([bad]), [], /tokens\[0\]/],
  'setParameter(data[0])': [(bad) => t5.setParameter(name, [bad, ...Array(rows * columns - 1).fill(0)]), ['-1', 'Infinity', '3.7', '2³² + 5', '2⁵³'], new RegExp(`${name}\\[0\\]`)],
  ...Object.fromEntries(Object.keys(small).concat('kvHeads', 'hidden', 'trainedLength').map((key) => [`model.${key}`, [(bad) => lw.model({ ...small, [key]: bad }), optional]])),
  'model.normEpsilon': [(bad) => lw.model({ ...small, normEpsilon: bad }), optional],
  'model.seed': [(bad) => lw.model(small, { seed: bad }), ['2³² + 5', 'undefined']],
  'logits(tokens[0])': [(bad) => model.logits([bad]), [], /tokens\[0\]/],
  'losses(tokens[1])': [(bad) => model.losses([1, bad]), [], /tokens\[1\]/],
  'generate(prompt[0])': [(bad) => model.generate([bad]).next(), [], /prompt\[0\]/],
  'generate.tokens': [draw('tokens'), optional],
  'generate.temperature': [draw('temperature'), ['3.7', ...optional]],
  'generate.topK': [draw('topK'), optional],
  'generate.topP': [draw('topP'), optional],
  'generate.seed': [draw('seed'), large],
  ...Object.fromEntries(['learningRate', 'minimumRatio', 'beta1', 'beta2', 'epsilon', 'warmup', 'steps'].map((key) => [`trainer.${key}`, [train(key), optional]])),
  ...Object.fromEntries(['weightDecay', 'clip', 'encodingRate'].map((key) => [`trainer.${key}`, [train(key), ['3.7', ...optional]]])),
  'trainer.seed': [train('seed'), ['2³² + 5', 'undefined']],
  'step(tokens[0])': [(bad) => model.trainer().step([bad, 1], { batch: 1, length: 1 }), [], /tokens\[0\]/],
  'step.batch': [(bad) => model.trainer().step([1, 2], { batch: bad, length: 1 }), []],
  'step.length': [(bad) => model.trainer().step([1, 2], { batch: 1, length: bad }), []],
  'step.microBatch': [(bad) => model.trainer().step([1, 2], { batch: 1, length: 1, microBatch: bad }), ['undefined']],
  'step.mask[0]': [(bad) => model.trainer().step([1, 2], { batch: 1, length: 1, mask: [bad] }), ['3.7', '2³² + 5', '2⁵³'], /mask\[0\]/],
  ...Object.fromEntries(['trainLength', 'steps', 'batch', 'testTokens'].map((key) => [`experiment.${key}`, [try_(key), optional]])),
  'experiment.testEvery': [try_('testEvery'), large],
  'experiment.workers': [try_('workers'), ['undefined']],
  'experiment.seeds': [try_('seeds'), ['[8]', ...optional], /seeds/],
  'experiment.seeds[0]': [(bad) => experiment({ ...tiny, seeds: [bad] }).finished, ['2³² + 5'], /seeds\[0\]/],
  'experiment.testLengths[0]': [(bad) => experiment({ ...tiny, testLengths: [bad] }).finished, [], /testLengths\[0\]/],
  'register.pairs': [(bad) => own({ pairs: bad, bias: undefined, rotation: () => 0 }), ['undefined'], /pairs/],
  'register.options.default': [(bad) => own({ options: { a: { default: bad } } }), ['-1', '3.7', '2³² + 5', '2⁵³'], /of_mine/],
  'register.options.least': [(bad) => own({ options: { a: { default: 5, least: bad } } }), ['-1', '3.7', 'undefined'], /of_mine/],
  'register.options.most': [(bad) => own({ options: { a: { default: 5, most: bad } } }), ['2³² + 5', '2⁵³', 'undefined'], /of_mine/],
  'register.options': [(bad) => own({ options: { a: bad } }), ['-1', '3.7', '2³² + 5', '2⁵³', 'true'], /of_mine/],
  'alibiSlopes(heads)': [(bad) => lengthwise.alibiSlopes(lw, bad), [], /heads/],
  'relativePositionBuckets[0]': [(bad) => lengthwise.relativePositionBuckets(lw, [bad]), ['-1', '2³² + 5'], /relativePositions\[0\]/],
  ...Object.fromEntries([['numBuckets', 'buckets'], ['maxDistance', 'max_distance']].map(([key, option]) =>
    [`relativePositionBuckets.${key}`, [(bad) => lengthwise.relativePositionBuckets(lw, [1], { [key]: bad }), optional, new RegExp(`${key}|${option}`)]])),
  ...Object.fromEntries(['heads', 'headDim', 'columns'].map((key) =>
    [`permuteRotaryRows.${key}`, [(bad) => lengthwise.permuteRotaryRows(x, { heads: 1, headDim: 4, columns: 1, from: 'half', to: 'interleaved', [key]: bad }), [], new RegExp(`${key}|data`)]])),
  'permuteRotaryRows.rotaryDim': [(bad) => lengthwise.permuteRotaryRows(x, { heads: 1, headDim: 4, columns: 1, from: 'half', to: 'interleaved', rotaryDim: bad }), optional],
  'positionsFromMask(mask[0])': [(bad) => lengthwise.positionsFromMask([bad]), ['true'], /mask\[0\]/],
  'positionsFromMask.first': [(bad) => lengthwise.positionsFromMask([1], { first: bad }), optional],
  'positionsFromMask.rows': [(bad) => lengthwise.positionsFromMask([1], { rows: bad }), ['undefined']],
  'splitText.testShare': [(bad) => splitText('some text', { testShare: bad }), optional],
  ...Object.fromEntries([bytes, pieces].map((tokenizer) => [`${tokenizer.constructor.name}.decode[0]`, [(bad) => tokenizer.decode([bad]), [], /tokens\[0\]/]])),
  'Llama2Tokenizer(vocabulary)': [(bad) => new Llama2Tokenizer(tokenizerFile(['a']), bad), ['undefined'], /vocabulary|pieces/],
  'writeSafetensors(shape[0])': [(bad) => writeSafetensors({ metadata: {}, tensors: new Map([['a', { ...tensor, shape: [bad] }]]) }), [], /shape|needs/],
};

for (const [what, [call, fine, named = new RegExp(what.replace(/^.*\./, ''))]] of Object.entries(CROSSING)) {
  test(`no number becomes another: ${what}`, async () => {
    for (const [key, bad] of Object.entries(NUMBERS)) {
      if (fine.includes(key)) await call(bad);
      else await assert.rejects(async () => call(bad), (error) => {
        assert.ok(['TypeError', 'RangeError', 'FormatError'].includes(error.name) && named.test(error.message) && /;|must|has no|needs/.test(error.message), `${key}: ${error.stack}`);
        return true;
      }, key);
    }
  });
}

test('everything public is in the list', () => {
  const listed = CALLS.map(([what]) => what.replace(/^worker |^Encoding\.|\(.*/g, ''));
  const methods = [lw, rope, model, trainer, bytes, pieces].flatMap((object) => {
    const all = Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(object)));
    return all.filter(([key, { value }]) => key !== 'constructor' && typeof value === 'function' && value.length > 0).map(([key]) => key);
  });
  const functions = Object.keys(lengthwise).filter((key) => /^[a-z]/.test(key));
  for (const key of [...methods, ...functions]) assert.ok(listed.includes(key), key);
  const not = ['norm', 'activation', 'tied', 'causal', 'encoding', 'signal'];
  for (const [of, all] of Object.entries({ shape: SHAPE_KEYS, model: MODEL_KEYS, trainer: TRAIN_KEYS, generate: GENERATE_KEYS })) {
    for (const key of all) if (!not.includes(key)) assert.ok(`${of}.${key}` in CROSSING, `${of}.${key}`);
  }
});

test('buffers that were transferred are called detached', async () => {
  const gone = (array) => { structuredClone(array.buffer, { transfer: [array.buffer] }); return array; };
  const floats = () => gone(new Float32Array(4)), doubles = () => gone(new Float64Array(4)), file = () => gone(new Uint8Array(9));
  for (const [named, call] of Object.entries({
    x: () => rope.rotate(floats(), 0), positions: () => rope.rotate(x, doubles()), q: () => rope.attention(floats(), x, x),
    tokens: () => rope.table(doubles()), [name]: () => t5.setParameter(name, floats()), prompt: () => model.generate(file()).next(),
    file: () => lw.loadModel(file()), 'tensor \'a\'': () => writeSafetensors({ metadata: {}, tensors: new Map([['a', { dtype: 'U8', shape: [9], bytes: file() }]]) }),
    text: () => splitText(file()), wasmBinary: () => load({ wasmBinary: file() }), 'wasmBinary is': () => load({ wasmBinary: file().buffer }),
  })) await assert.rejects(async () => call(), (error) => error instanceof TypeError && error.message.includes(named) && /detached/.test(error.message), named);
});

test('NaN is no position, in no kind of array and nowhere', () => {
  for (const make of [(list) => list, (list) => Float64Array.from(list), (list) => Float32Array.from(list)]) {
    const [bad, two] = [make([Number.NaN]), make([0, Number.NaN])];
    for (const call of [
      () => rope.attention(x, x, x, { positions: bad }), () => rope.bias({ queries: 2, positions: two }), () => rope.pattern({ queries: 2, positions: two }),
      () => rope.rotate(x, bad), () => rope.table(bad), () => rope.rotation(bad), () => rope.scale(bad), () => rope.positions(bad),
    ]) assert.throws(call, /(positions|tokens)\[[01]\] is NaN/);
  }
});

test('parameters may hold infinities, not NaN', () => {
  const values = new Float32Array(rows * columns);
  values[1] = -Infinity;
  t5.setParameter(name, values);
  assert.equal(t5.parameters[name].data[1], -Infinity);
  values[2] = Number.NaN;
  assert.throws(() => t5.setParameter(name, values), new RegExp(`${name}\\[2\\] is NaN`));
});

test('what is echoed is short', async () => {
  const long = 'x'.repeat(1e6);
  for (const call of [() => load({ variant: long }), () => lw.model({ norm: long }), () => model.tensor(long), () => t5.setParameter(long, x),
    () => lw.encoding('nope', { [long]: 1 }), () => model.logits([10n ** 5000n]), () => lw.encoding(long), () => lw.encoding({ name: `${long}+` }),
    () => lw.encoding('x'.repeat(2 ** 28))]) {
    await assert.rejects(async () => call(), (error) => error.message.length < 400);
  }
});
