// The parts that need no WebAssembly: specs, checks, texts, spreads.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import * as check from '../../dist/check.js';
import { EngineError, errorFrom, OutOfMemoryError, revive } from '../../dist/errors.js';
import { guarded } from '../../dist/guard.js';
import { specText } from '../../dist/spec.js';
import { spread } from '../../dist/summary.js';
import { checkSplit, splitText } from '../../dist/text.js';
import { ByteTokenizer } from '../../dist/tokenizer.js';

test('specs as text, objects and arrays', () => {
  assert.equal(specText('rope:base=5e5+log_n'), 'rope:base=5e5+log_n');
  assert.equal(specText({ name: 'rope', base: 500000, pairing: 'half' }), 'rope:base=500000:pairing=half');
  assert.equal(specText([{ name: 'random_sorted', max: 1e21 }, 'alibi']), 'random_sorted:max=1e21+alibi');
  assert.equal(specText({ name: 'sinusoidal', sin_only: true }), 'sinusoidal:sin_only=true');
});

test('specs that cannot be written are refused', () => {
  for (const bad of [{ name: 'a+b' }, { name: 'rope', base: Number.NaN }, { name: 'rope', pairing: 'half:base=1' }, []]) {
    assert.throws(() => specText(bad), RangeError);
  }
  for (const bad of [null, 5, {}, { name: 'rope', base: 5n }, { name: 'rope', base: null }, [null]]) {
    assert.throws(() => specText(bad), TypeError);
  }
});

test('what C++ would take silently for another number is refused', () => {
  for (const bad of [-1, Number.NaN, 3.7, 4294967301]) assert.throws(() => check.count('n', bad), RangeError);
  for (const bad of [undefined, '8', null, 8n, {}]) assert.throws(() => check.count('n', bad), TypeError);
  assert.throws(() => check.count('heads', -1), /heads is -1; it must be an integer from 1 to/);
});

test('misspelt options are not ignored', () => {
  assert.throws(() => check.keys('shape', { head: 2 }, ['heads']), /shape has no option 'head'; it may have heads/);
});

test('sentences of the core become errors', () => {
  assert.ok(errorFrom('base is 0; allowed: …') instanceof RangeError);
  assert.ok(errorFrom('TypeError: x') instanceof TypeError);
  assert.ok(errorFrom('OutOfMemory: x') instanceof OutOfMemoryError);
});

test('errors from a worker get their class back', () => {
  const sent = Object.assign(new Error('no more'), { name: 'OutOfMemoryError' });
  assert.ok(revive(sent) instanceof OutOfMemoryError);
  assert.equal(revive(sent).message, 'no more');
});

test('after a trap the instance is spoilt, and says so', () => {
  const thrown = (error) => () => { throw error; };
  const core = (error) => guarded({
    HEAPU8: new Uint8Array(8), _malloc: () => 8, _free: () => {}, catalogue: () => '[]', lastError: () => '', Model: { make: () => null }, Run: { make: () => null },
    Encoder: { make: () => object(error) },
  });
  const object = (error) => ({ plan: thrown(error), describe() { return this.text; }, text: 'here', other: () => object(error), none: () => null, delete: thrown(new Error('deleted')) });
  const trap = new WebAssembly.RuntimeError('memory access out of bounds');
  for (const [error, kind] of [
    [trap, EngineError], [new WebAssembly.RuntimeError('Aborted(). Build with -sASSERTIONS for more info.'), OutOfMemoryError],
    [new RangeError('Maximum call stack size exceeded'), EngineError],
  ]) {
    const own = core(error);
    const encoder = own.Encoder.make();
    assert.equal(own.Model.make(), null);
    assert.equal(encoder.none(), null);
    assert.equal(encoder.describe(), 'here');
    assert.equal(own.spoilt, false);
    for (const call of [() => encoder.plan(), () => encoder.describe(), () => own.catalogue(), () => own._malloc(8), () => own.Encoder.make()]) {
      assert.throws(call, (e) => e instanceof kind && e.cause === error && /load\(\) again/.test(e.message));
    }
    assert.equal(own.spoilt, true);
    own._free(8);
    encoder.delete();
  }
  // An object that another one makes is no less guarded.
  const chain = core(trap);
  assert.throws(() => chain.Encoder.make().other().other().plan(), EngineError);
  assert.equal(chain.spoilt, true);
  const own = core(new TypeError('another error'));
  assert.throws(() => own.Encoder.make().plan(), /another error/);
  assert.equal(own.spoilt, false);
});

test('a split is bytes or texts, its options are not ignored', () => {
  assert.throws(() => splitText('a text', { testshare: 0.5 }), /no option 'testshare'/);
  const { train, test: kept } = checkSplit({ train: 'é', test: new Uint8Array(3) });
  assert.deepEqual([...train], [0xc3, 0xa9]);
  assert.equal(kept.length, 3);
});

test('documents go to one part or the other, whole', () => {
  const documents = Array.from({ length: 50 }, (_, i) => `document ${i}.`);
  const { train, test: kept } = splitText(documents);
  const texts = [train, kept].map((part) => new TextDecoder().decode(part).split('\n'));
  assert.equal(texts[1].length, 5);
  assert.deepEqual(texts.flat().sort(), documents.sort());
});

test('every split is whole, whatever the share', () => {
  fc.assert(fc.property(fc.array(fc.string(), { minLength: 2 }), fc.double({ min: 0.001, max: 0.999, noNaN: true }), (documents, testShare) => {
    const { train, test: kept } = splitText(documents, { testShare });
    const bytes = Buffer.byteLength(documents.join('')) + documents.length - 2; // joined by line ends in two parts
    assert.equal(train.length + kept.length, bytes);
  }));
});

test('one text is cut after a line end near the place', () => {
  const text = 'a line of some words\n'.repeat(100);
  const { train, test: kept } = splitText(text);
  assert.equal(new TextDecoder().decode(train).at(-1), '\n');
  assert.ok(Math.abs(kept.length - text.length / 10) < 40);
  assert.equal(splitText(`${'word '.repeat(400).trim()}\n\n`).test.length, 196, 'a line end at the far end is not near');
  assert.throws(() => splitText(''), RangeError);
  assert.throws(() => splitText(5), TypeError);
  assert.throws(() => splitText('abc', { testShare: 1.5 }), RangeError);
});

test('spreads', () => {
  assert.deepEqual(spread([3]), { mean: 3, sd: null, values: [3] });
  assert.equal(spread([1, 2, 3]).sd, 1);
});

test('bytes are tokens', () => {
  const bytes = new ByteTokenizer();
  assert.deepEqual(bytes.encode('é'), [0xc3, 0xa9]);
  assert.equal(bytes.decode([0xc3, 0xa9]), 'é');
  for (const bad of [300, -1, 1.5]) assert.throws(() => bytes.decode([bad]), /tokens\[0\] is/);
});
