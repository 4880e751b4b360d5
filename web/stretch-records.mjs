// How every encoding of the catalogue does past its trained length: what tests/bench/results holds of
// `node tests/bench/stretch.mjs <task> --all` when the site is built, a record for each task.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const name = 'virtual:stretch-records';
const results = fileURLToPath(new URL('../tests/bench/results', import.meta.url));

/** Means and standard deviations; of a test that the encoding refuses, the sentence. */
export function readStretches(folder = results) {
  return ['text', 'copy', 'recall'].map((task) => join(folder, `all-${task}.json`)).filter(existsSync).map((file) => {
    const { task, command, trainLength, testLengths, steps, seeds, encodings } = JSON.parse(readFileSync(file, 'utf8'));
    return { task, command, trainLength, testLengths, steps, seeds: seeds.length, encodings: Object.fromEntries(encodings.map(({ encoding, parameters, tests }) => [encoding, {
      parameters, tests: tests.map(({ length, refused, perplexity, accuracy }) => {
        const { mean, sd } = perplexity ?? accuracy ?? {};
        return refused === undefined ? { length, mean, sd } : { length, refused };
      }),
    }])) };
  });
}

/** @returns {import('vite').Plugin} */
export function stretchRecords() {
  return {
    name: 'stretch-records',
    resolveId: (id) => (id === name ? `\0${name}` : undefined),
    load: (id) => (id === `\0${name}` ? `export const stretches = ${JSON.stringify(readStretches())};` : undefined),
  };
}
