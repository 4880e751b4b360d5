// What the documents say: the code runs, the files are there, the tables hold the numbers that were recorded.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const project = fileURLToPath(new URL('../../', import.meta.url));
const documents = ['README.md', 'CONTRIBUTING.md', 'tests/bench/README.md'];
const read = (name) => readFileSync(join(project, name), 'utf8');
const node = (...args) => execFileSync(process.execPath, args, { cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

test('the code of the README runs as it stands, and prints something', () => {
  const blocks = [...read('README.md').matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code);
  assert.ok(blocks.length >= 2);
  for (const code of blocks) assert.ok(node('--input-type=module', '--eval', code).length > 0, code);
});

test('the command lines of the README are understood', () => {
  const lines = [...read('README.md').matchAll(/^npx lengthwise (.*)$/gm)].map(([, line]) => line);
  assert.ok(lines.length >= 5);
  const commands = new Map();
  for (const line of lines) {
    const [command] = line.split(' ');
    if (!commands.has(command)) commands.set(command, node('dist/cli.js', command, '--help'));
    for (const [option] of line.matchAll(/--[a-z-]+/g)) assert.ok(commands.get(command).includes(`${option} `), line);
    // Those that neither train nor read a file are run.
    if (['encodings', 'show', 'audit'].includes(command)) assert.ok(node('dist/cli.js', ...line.split(' ')).length > 0, line);
  }
});

test('the files that documents name are there', () => {
  for (const name of documents) {
    const text = read(name);
    for (const [, path] of text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)) assert.ok(existsSync(join(project, dirname(name), path)), `${name}: ${path}`);
    for (const [, path] of text.matchAll(/`((?:src|bindings|web|tests)\/[\w./-]+)`/g)) assert.ok(existsSync(join(project, path)) || /plateau/.test(path), `${name}: ${path}`);
  }
});

test('the tables of stretched models hold the recorded numbers', () => {
  const text = documents.map(read).join('\n');
  for (const kind of ['text', 'copy', 'recall', 'fine-tune']) {
    const { task, encodings } = JSON.parse(read(`tests/bench/results/stretch-${kind}.json`));
    const cell = ({ perplexity, accuracy }) => {
      const { mean, sd } = task === 'text' ? perplexity : accuracy, [factor, digits] = task === 'text' ? [1, 2] : [100, 1];
      return `${(mean * factor).toFixed(digits)} ± ${(sd * factor).toFixed(digits)}`;
    };
    for (const { encoding, tests } of encodings) {
      const row = tests.map(cell).join(' | ');
      assert.ok(text.includes(`${row} |`), `${kind}, ${encoding}: ${row}`);
    }
  }
});
