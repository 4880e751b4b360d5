// What tests/bench/results holds when the site is built: runs of the bench against peers (an entry for each engine) and of
// growth, newest first; empty lists where nothing was recorded.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const name = 'virtual:bench-records';
const results = fileURLToPath(new URL('../tests/bench/results', import.meta.url));

const recorded = (folder, kind) => (existsSync(folder) ? readdirSync(folder) : []).filter((file) => file.startsWith(`${kind}-`) && file.endsWith('.json')).sort()
  .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8'))).sort((a, b) => b.date.localeCompare(a.date));
const anonymous = ({ cpu, cores }) => ({ cpu, cores });

/** @returns {import('vite').Plugin} */
export function benchRecords(folder = results) {
  const records = () => ({
    peers: recorded(folder, 'peers').flatMap(({ machine, date, versions, runs }) => runs.map(({ engine, clock, rows }) => ({ engine, clock, date, versions, machine: anonymous(machine),
      rows: rows.map(({ id, entries }) => ({ id, entries: entries.filter(({ median }) => median) })) }))),
    growth: recorded(folder, 'growth').map(({ machine, ...run }) => ({ ...run, machine: anonymous(machine) })),
  });
  return {
    name: 'bench-records',
    resolveId: (id) => (id === name ? `\0${name}` : undefined),
    load: (id) => (id === `\0${name}` ? `export const { peers, growth } = ${JSON.stringify(records())};` : undefined),
  };
}
