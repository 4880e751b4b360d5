import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { bytes } from '../../dist/check.js';
import { FormatError } from '../../dist/errors.js';
import { readLlama2 } from '../../dist/llama2.js';
import { readModelFile } from '../../dist/model-file.js';
import { readSafetensors, writeSafetensors } from '../../dist/safetensors.js';
import { Llama2Tokenizer } from '../../dist/tokenizer.js';
import { checkpoint, tokenizerFile } from './llama2-files.mjs';

const changed = (file, field, value) => {
  const copy = file.slice();
  new DataView(copy.buffer).setInt32(4 * field, value, true);
  return copy;
};

test('tensors are where the format puts them', () => {
  const file = checkpoint();
  const { config, tensors } = readLlama2(file);
  assert.deepEqual(config, {
    vocabulary: 300, width: 8, layers: 2, heads: 2, kvHeads: 1, hidden: 12, trainedLength: 16, norm: 'rms', normEpsilon: 1e-5,
    activation: 'swiglu', tied: true, causal: true, encoding: 'rope:pairing=interleaved',
  });
  const all = new Float32Array(file.buffer, 28);
  let at = 300 * 8;
  assert.deepEqual(tensors.get('embedding'), all.slice(0, at));
  assert.deepEqual(tensors.get('layers.1.attention_norm'), all.slice(at + 8, at + 16));
  at += 16;
  assert.deepEqual(tensors.get('layers.0.wq'), all.slice(at, at + 64));
  at += 128;
  assert.deepEqual(tensors.get('layers.1.wk'), all.slice(at + 32, at + 64));
  assert.deepEqual(tensors.get('final_norm'), all.slice(all.length - 16 * 4 - 8, all.length - 16 * 4));
});

test('a negative vocabulary size means a separate head, at the very end', () => {
  const file = checkpoint({ tied: false });
  const { config, tensors } = readLlama2(file);
  assert.equal(config.tied, false);
  assert.deepEqual(tensors.get('head'), new Float32Array(file.buffer, 28).slice(-300 * 8));
});

test('the bytes may start anywhere', () => {
  const file = checkpoint();
  const shifted = new Uint8Array(file.length + 3).subarray(3);
  shifted.set(file);
  assert.deepEqual(readLlama2(shifted).tensors, readLlama2(file).tensors);
  assert.deepEqual(readModelFile(Buffer.from(file)), readModelFile(file));
});

// Exactly as long as the header asks for, when sizes are taken modulo 2³².
const wrapping = { dim: 65536, hidden: 65536, layers: 1, heads: 32768, kvHeads: 1, vocabulary: 65536, length: 1 };
const wrapped = new Uint8Array(28 + 4 * (2 * 65536 + 2 * 2 * 65536 + 65536 + 2));
Object.values(wrapping).forEach((value, field) => new DataView(wrapped.buffer).setInt32(4 * field, value, true));

// A whole file with a tensor [1.5, −2].
const GGUF = '474755460300000001000000000000000000000000000000010000000000000074010000000200000000000000000000000000000000000000000000000000000000c03f000000c0';

for (const [name, file] of Object.entries({
  'nothing': new Uint8Array(0),
  'half a header': checkpoint().slice(0, 20),
  'one byte too few': checkpoint().slice(0, -1),
  'one byte too many': new Uint8Array([...checkpoint(), 0]),
  'only a header': checkpoint().slice(0, 28),
  'sizes that fit only because products wrap (ggml-org/llama.cpp#25401)': wrapped,
  'sizes whose product wraps 32 bits': changed(changed(checkpoint(), 0, 65536), 5, 65536),
  'the largest sizes there are': [0, 1, 2, 5, 6].reduce((file, field) => changed(file, field, 2147483647), checkpoint()),
  'a width that heads do not divide': changed(checkpoint(), 3, 3),
  'more key/value heads than heads': changed(checkpoint(), 4, 4),
  'a head that is missing': changed(checkpoint(), 5, -300),
  'a vocabulary of −2³¹': changed(checkpoint(), 5, -2147483648),
  'a GGUF file': new Uint8Array(Buffer.from(GGUF, 'hex')),
  'a page': Uint8Array.from(Buffer.from('<!doctype html><title>Not found</title>')),
  'a text': Uint8Array.from(Buffer.from('just some words that are no model at all, but long enough')),
  'a safetensors file without a configuration': Uint8Array.from(Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from('{}')])),
  ...Object.fromEntries([0, 1, 2, 3, 4, 5, 6].flatMap((field) => [0, -1].filter((v) => field !== 5 || v === 0).map((v) => [`field ${field} = ${v}`, changed(checkpoint(), field, v)]))),
})) test(`refuses ${name}`, () => assert.throws(() => readModelFile(file), FormatError));

test('what cannot be read is called what it is', () => {
  assert.throws(() => readModelFile(new Uint8Array(Buffer.from(GGUF, 'hex'))), /GGUF is not supported/);
});

test('a page is called a page, whatever file it stands for (huggingface/transformers.js#366)', () => {
  for (const start of ['<!DOCTYPE html>', '\n<!doctype html>', '\uFEFF<html lang="en">', '<?xml version="1.0"?><html>']) {
    const page = Uint8Array.from(Buffer.from(`${start}<title>Home</title>`));
    for (const read of [readModelFile, readSafetensors, (file) => new Llama2Tokenizer(file)]) {
      assert.throws(() => read(page), (error) => error instanceof FormatError && /HTML was returned/.test(error.message), `${read} ${start}`);
    }
  }
});

test('files in shared or resizable memory, which decoders of browsers refuse (emscripten-core/emscripten#27241)', (t) => {
  const memory = { shared: (n) => new SharedArrayBuffer(n), resizable: (n) => new ArrayBuffer(n, { maxByteLength: 2 * n }) };
  const { decode } = TextDecoder.prototype;
  t.mock.method(TextDecoder.prototype, 'decode', function (data, ...options) {
    if (data && (!(data.buffer instanceof ArrayBuffer) || data.buffer.resizable)) throw new TypeError('must not be shared or resizable');
    return decode.call(this, data, ...options);
  });
  const own = writeSafetensors({ metadata: { k: 'v' }, tensors: new Map([['a', { dtype: 'F32', shape: [2], bytes: new Uint8Array(8) }]]) });
  for (const [kind, make] of Object.entries(memory)) {
    const placed = (file) => { const there = new Uint8Array(make(file.length)); there.set(file); return there; };
    assert.ok(bytes('file', placed(own)).buffer instanceof ArrayBuffer && !bytes('file', placed(own)).buffer.resizable, kind);
    assert.deepEqual(readSafetensors(placed(own)), readSafetensors(own), kind);
    assert.deepEqual(readModelFile(placed(checkpoint())), readModelFile(checkpoint()), kind);
    assert.equal(new Llama2Tokenizer(placed(tokenizerFile(pieces))).vocabulary, tokenizer.vocabulary, kind);
  }
});

test('damaged headers give FormatError', () => {
  const file = checkpoint();
  fc.assert(fc.property(fc.nat(6), fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), (field, value) => {
    try {
      readModelFile(changed(file, field, value));
    } catch (error) {
      assert.ok(error instanceof FormatError, String(error));
    }
  }), { numRuns: 500 });
});

// ' ' and single letters, then unions in the order in which they are preferred.
const pieces = ['he', 'll', 'hell', 'hello', 'lo', ' hello', 'é', ' ', 'h', 'e', 'l', 'o'];
const tokenizer = new Llama2Tokenizer(tokenizerFile(pieces));
const id = (piece) => 259 + pieces.indexOf(piece);

test('the best union is made first, the leftmost of equals', () => {
  assert.deepEqual(tokenizer.encode('hello'), [1, id(' hello')]);
  assert.deepEqual(tokenizer.encode('lll', { begin: false }), [id(' '), id('ll'), id('l')]);
  assert.deepEqual(tokenizer.encode('llo', { begin: false }), [id(' '), id('ll'), id('o')]);
  assert.deepEqual(tokenizer.encode(''), [1]);
});

test('unknown characters become bytes and come back (cactus-compute/cactus#684)', () => {
  assert.equal(tokenizer.decode([id('h'), id(' '), ...[0xea, 0xb9, 0xb0].map((byte) => 3 + byte), id(' ')]), 'h 깰 ');
  assert.equal(tokenizer.decode([3 + 0x0a]), '\n');
  assert.deepEqual(tokenizer.encode('é'), [1, id(' '), id('é')]);
  assert.deepEqual(tokenizer.encode('\n', { begin: false }), [id(' '), 3 + 10]);
  assert.equal(tokenizer.decode(tokenizer.encode('h€llo 깰\n')), 'h€llo 깰\n');
});

test('bytes that are no UTF-8 become U+FFFD, the rest stays (cactus-compute/cactus#684)', () => {
  assert.equal(tokenizer.decode([3 + 0x41, 3 + 0xff, id('h')]), 'A\uFFFDh');
});

test('a text that spells a piece for control or a byte is text (NVIDIA/TensorRT-Model-Connect#1317)', () => {
  const spelt = ['<unk>', '\n<s>\n', '\n</s>\n', '<0x41>'];
  const letters = [...new Set(spelt.join(''))], halves = spelt.flatMap((text) => [...text].map((_, i) => text.slice(0, i + 1)).slice(1, -1));
  const own = new Llama2Tokenizer(tokenizerFile([...letters, ...new Set(halves)]));
  for (const text of spelt) {
    const ids = own.encode(text, { begin: false });
    assert.ok(ids.every((each) => each >= 259 || text.includes(own.decode([each]))), `${text}: ${ids}`);
    assert.equal(own.decode(own.encode(text)), text);
  }
});

test('any text survives', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => {
    const whole = text.toWellFormed?.() ?? text;
    assert.equal(tokenizer.decode(tokenizer.encode(whole)), whole);
  }));
});

test('long texts take no quadratic time', () => {
  assert.ok(tokenizer.encode('hello '.repeat(50000)).length > 50000);
});

test('ids outside the vocabulary are refused', () => {
  for (const bad of [-1, tokenizer.vocabulary, 1.5, Number.NaN]) assert.throws(() => tokenizer.decode([bad]), RangeError);
});

test('truncated and foreign tokenizers are refused', () => {
  const file = tokenizerFile(pieces);
  for (const length of [0, 3, 4, 11, 100, file.length - 1]) {
    assert.throws(() => new Llama2Tokenizer(file.slice(0, length)), FormatError, String(length));
  }
  const lies = file.slice();
  new DataView(lies.buffer).setInt32(8, 2 ** 31 - 1, true);
  assert.throws(() => new Llama2Tokenizer(lies), FormatError);
  assert.throws(() => new Llama2Tokenizer(file, 300), FormatError);
  assert.throws(() => new Llama2Tokenizer(Uint8Array.from(Buffer.from('<!doctype html>'))), FormatError);
});
