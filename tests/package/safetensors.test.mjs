// Files as they were met in the wild (safetensors-cases.json names each report) and files made up at random.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { FormatError } from '../../dist/errors.js';
import { readSafetensors, tensorFloats, writeSafetensors } from '../../dist/safetensors.js';

const cases = JSON.parse(readFileSync(new URL('safetensors-cases.json', import.meta.url), 'utf8'));

for (const [name, { source, hex, expected }] of Object.entries(cases)) {
  test(`${name} (${source})`, () => {
    const file = new Uint8Array(Buffer.from(hex, 'hex'));
    if (expected === 'error') return assert.throws(() => readSafetensors(file), FormatError);
    const { tensors } = readSafetensors(file);
    assert.deepEqual(Object.fromEntries([...tensors].map(([key, t]) => [key, [...tensorFloats(key, t)]])), expected);
  });
}

test('metadata are texts', () => {
  const { metadata } = readSafetensors(Uint8Array.from(Buffer.from(cases.only_metadata.hex, 'hex')));
  assert.deepEqual(metadata, { k: 'v' });
});

const headed = (header, data = 0) => {
  const text = Buffer.from(header);
  const file = Buffer.alloc(8 + text.length + data);
  file.writeBigUInt64LE(BigInt(text.length));
  text.copy(file, 8);
  return new Uint8Array(file);
};
const entry = (begin, end) => `{"dtype":"U8","shape":[${end - begin}],"data_offsets":[${begin},${end}]}`;

for (const [name, file] of Object.entries({
  'a name twice': headed(`{"a":${entry(0, 1)},"a":${entry(1, 2)}}`, 2),
  'a name twice, once escaped': headed(`{"a":${entry(0, 1)},"\\u0061":${entry(1, 2)}}`, 2),
  'a hole': headed(`{"a":${entry(0, 1)},"b":${entry(2, 3)}}`, 3),
  'an overlap': headed(`{"a":${entry(0, 2)},"b":${entry(1, 3)}}`, 3),
  'bytes left over': headed(`{"a":${entry(0, 1)}}`, 2),
  'an unknown key': headed('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}}', 1),
  'a missing key': headed('{"a":{"dtype":"U8","shape":[1]}}', 1),
  'an exponent': headed('{"a":{"dtype":"U8","shape":[1e0],"data_offsets":[0,1]}}', 1),
  'a leading zero': headed('{"a":{"dtype":"U8","shape":[01],"data_offsets":[0,1]}}', 1),
  'a trailing comma': headed(`{"a":${entry(0, 1)},}`, 1),
  'text after the header': headed('{} x'),
  'a blank first': headed(' {}'),
  'an inherited name for a type': headed('{"a":{"dtype":"constructor","shape":[1],"data_offsets":[0,1]}}', 1),
  'bytes that are no UTF-8': headed(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])),
  'a header cut off': headed('{"a":{"dtype":"U8","sha'),
  'nesting without end': headed('['.repeat(100000)),
})) test(`refuses ${name}`, () => assert.throws(() => readSafetensors(file), FormatError));

test('what the reader refuses is not written', () => {
  const one = { dtype: 'U8', shape: [1], bytes: new Uint8Array(1) };
  for (const [what, contents] of Object.entries({
    'metadata.k': { metadata: { k: 1 }, tensors: new Map() },
    __metadata__: { metadata: {}, tensors: new Map([['__metadata__', one]]) },
    dtype: { metadata: {}, tensors: new Map([['a', { ...one, dtype: 'F31' }]]) },
    inherited: { metadata: {}, tensors: new Map([['inherited', { ...one, dtype: 'constructor' }]]) },
    'shape[0]': { metadata: {}, tensors: new Map([['a', { ...one, shape: [-1] }]]) },
    'needs 2 bytes': { metadata: {}, tensors: new Map([['a', { ...one, shape: [2] }]]) },
    'must be an array': { metadata: {}, tensors: new Map([['a', { ...one, shape: 1 }]]) },
    'must be a string': { metadata: {}, tensors: new Map([[5, one]]) },
    "no option 'size'": { metadata: {}, tensors: new Map([['a', { ...one, size: 1 }]]) },
  })) {
    assert.throws(() => writeSafetensors(contents), (error) => (error instanceof TypeError || error instanceof RangeError) && error.message.includes(what), what);
  }
});

test('long strings, blanks and integers, in short messages', () => {
  const long = 'x'.repeat(25_000_000);
  assert.equal(readSafetensors(headed(`{"__metadata__":{"k":"${long}"}}`)).metadata.k.length, long.length);
  assert.equal(readSafetensors(headed(`{"__metadata__":{${' '.repeat(25_000_000)}"k":"v"}}`)).metadata.k, 'v');
  for (const header of [`{"__metadata__":{"k":"${long}`, `{"${long}":1}`, `{"${long}":{"${long}":1}}`, `{"a":{"dtype":"${long}","shape":[0],"data_offsets":[0,0]}}`,
    `{"a":{"dtype":"U8","shape":[${'9'.repeat(25_000_000)}]}}`, `{"a":{"dtype":"U8","shape":[${'9,'.repeat(100_000)}1],"data_offsets":[0,0]}}`, `{"__metadata__":{"k":"\\q${long}"}}`]) {
    assert.throws(() => readSafetensors(headed(header)), (error) => error instanceof FormatError && error.message.length < 300);
  }
});

test('names like __proto__ are names', () => {
  const file = headed('{"__metadata__":{"__proto__":"x"},"constructor":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', 1);
  const { metadata, tensors } = readSafetensors(file);
  assert.equal(Object.getOwnPropertyDescriptor(metadata, '__proto__').value, 'x');
  assert.deepEqual([...tensors.keys()], ['constructor']);
});

test('what is written is read back', () => {
  fc.assert(fc.property(
    fc.dictionary(fc.string().filter((s) => s !== '__metadata__'), fc.float32Array({ maxLength: 9 })),
    fc.dictionary(fc.string({ minLength: 1 }), fc.string()),
    fc.nat(7),
    (arrays, metadata, shift) => {
      const tensors = new Map(Object.entries(arrays).map(([name, data]) =>
        [name, { dtype: 'F32', shape: [data.length], bytes: new Uint8Array(data.slice().buffer) }]));
      const file = writeSafetensors({ metadata, tensors });
      const moved = new Uint8Array(file.length + shift).subarray(shift); // at any alignment
      moved.set(file);
      const back = readSafetensors(moved);
      assert.deepEqual({ ...back.metadata }, { ...metadata });
      assert.deepEqual([...back.tensors.keys()].sort(), [...tensors.keys()].sort());
      for (const [name, tensor] of back.tensors) assert.deepEqual(tensorFloats(name, tensor), new Float32Array(arrays[name]));
    },
  ));
});

test('damaged files give FormatError or a whole result, nothing else', () => {
  const whole = writeSafetensors({ metadata: { k: 'v' }, tensors: new Map([['a', { dtype: 'F32', shape: [2], bytes: new Uint8Array(8) }]]) });
  fc.assert(fc.property(fc.nat(whole.length), fc.nat(whole.length - 1), fc.nat(255), (length, at, byte) => {
    const file = whole.slice(0, length);
    if (at < length) file[at] = byte;
    try {
      readSafetensors(file);
    } catch (error) {
      assert.ok(error instanceof FormatError, String(error));
    }
  }), { numRuns: 2000 });
});
