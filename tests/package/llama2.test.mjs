import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FormatError } from '../../dist/errors.js';
import { readLlama2 } from '../../dist/llama2.js';
import { readModelFile } from '../../dist/model-file.js';
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

for (const [name, file] of Object.entries({
  'nothing': new Uint8Array(0),
  'half a header': checkpoint().slice(0, 20),
  'one byte too few': checkpoint().slice(0, -1),
  'one byte too many': new Uint8Array([...checkpoint(), 0]),
  'only a header': checkpoint().slice(0, 28),
  'sizes whose product wraps 32 bits': changed(changed(checkpoint(), 0, 65536), 5, 65536),
  'the largest sizes there are': [0, 1, 2, 5, 6].reduce((file, field) => changed(file, field, 2147483647), checkpoint()),
  'a width that heads do not divide': changed(checkpoint(), 3, 3),
  'more key/value heads than heads': changed(checkpoint(), 4, 4),
  'a head that is missing': changed(checkpoint(), 5, -300),
  'a vocabulary of −2³¹': changed(checkpoint(), 5, -2147483648),
  'a GGUF file': Uint8Array.from(Buffer.concat([Buffer.from('GGUF'), Buffer.alloc(60)])),
  'a page': Uint8Array.from(Buffer.from('<!doctype html><title>Not found</title>')),
  'a text': Uint8Array.from(Buffer.from('just some words that are no model at all, but long enough')),
  'a safetensors file without a configuration': Uint8Array.from(Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from('{}')])),
  ...Object.fromEntries([0, 1, 2, 3, 4, 5, 6].flatMap((field) => [0, -1].filter((v) => field !== 5 || v === 0).map((v) => [`field ${field} = ${v}`, changed(checkpoint(), field, v)]))),
})) test(`refuses ${name}`, () => assert.throws(() => readModelFile(file), FormatError));

test('a page is called a page', () => {
  assert.throws(() => readModelFile(Uint8Array.from(Buffer.from('\n<!DOCTYPE html>'))), /HTML was returned/);
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

test('unknown characters become bytes and come back', () => {
  assert.deepEqual(tokenizer.encode('é'), [1, id(' '), id('é')]);
  assert.deepEqual(tokenizer.encode('\n', { begin: false }), [id(' '), 3 + 10]);
  assert.equal(tokenizer.decode(tokenizer.encode('h€llo 깰\n')), 'h€llo 깰\n');
});

test('bytes that are no UTF-8 become U+FFFD, the rest stays', () => {
  assert.equal(tokenizer.decode([3 + 0x41, 3 + 0xff, id('h')]), 'A\uFFFDh');
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
