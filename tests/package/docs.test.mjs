// What the page of an encoding is made from: its descriptor, and the comment that its C++ file opens with.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from '../../dist/index.js';
import { texts } from '../../dist/texts.mjs';
import { readHeader, readHeaders } from '../../web/encoding-headers.mjs';

const lw = await load();

test('every encoding of the catalogue has an equation', () => {
  const headers = readHeaders();
  assert.deepEqual(Object.keys(headers), lw.encodings().map((d) => d.name));
  for (const [name, { equation }] of Object.entries(headers)) assert.ok(equation.join('').trim(), name);
});

test('a header without an equation, or a file without a paper, is refused', () => {
  const paper = '  .paper = "Somebody 2020, A paper",\n';
  const header = readHeader('x.cpp', `// X (door: bias).\n//   bias = 1\n//   or 2\n// one 0 … 1;\n// two\n${paper}`);
  assert.deepEqual(header, { equation: ['bias = 1', 'or 2'], notes: 'one 0 … 1; two' });
  assert.throws(() => readHeader('x.cpp', `// X (door: bias).\n// bias = 1\n${paper}`), /x\.cpp must open with a title and then its equation/);
  assert.throws(() => readHeader('x.cpp', `#include <x>\n//   bias = 1\n${paper}`), /must open with a title/);
  assert.throws(() => readHeader('x.cpp', '// X.\n//   bias = 1\n  .paper = "",\n'), /x\.cpp names no paper/);
});

test('descriptors say everything in both languages', () => {
  assert.deepEqual(Object.keys(texts).sort(), lw.encodings().map((d) => d.name).sort());
  for (const d of lw.encodings(texts)) {
    for (const text of [d.title, d.title_zh, d.paper, d.past_note, d.past_note_zh]) assert.ok(text, d.name);
    assert.equal(d.differs === '', d.differs_zh === '', d.name);
    for (const option of d.options) assert.ok(option.meaning && option.meaning_zh, `${d.name}:${option.name}`);
    lw.encoding([d.name, d.example].filter(Boolean).join(':'), { trainedLength: 64 }).dispose();
  }
});
