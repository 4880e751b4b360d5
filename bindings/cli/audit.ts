import { Command } from 'commander';
import { load } from '../load.js';
import type { EncodingTerm } from '../spec.js';
import { integerArgument, objectArgument } from './arguments.js';
import { withModules } from './modules.js';
import { printJson, printTable } from './output.js';

interface Options {
  options?: Record<string, unknown>;
  heads: number;
  kvHeads?: number;
  headDim?: number;
  width?: number;
  trainedLength: number;
  causal: boolean;
  json?: boolean;
}

export function auditCommand(): Command {
  return new Command('audit')
    .description('Measures what textbooks ask of an encoding: unique, the same each time, beyond its length, mild to the content, cheap.')
    .argument('<name>', "an encoding, or several joined: 'rope', 'random_sorted+alibi'; or a module of your own: ./mine.mjs")
    .option('--options <json>', 'options of the encoding, as an object', objectArgument)
    .option('--heads <H>', 'query heads', integerArgument(1), 4)
    .option('--kv-heads <H>', 'key/value heads (default: as many as heads)', integerArgument(1))
    .option('--head-dim <D>', 'width of a head (default: width / heads, else 64)', integerArgument(1))
    .option('--width <d>', 'width of the model (default: heads · head-dim)', integerArgument(1))
    .option('--trained-length <L>', 'length trained on; measured at 512 at most', integerArgument(1), 64)
    .option('--no-causal', 'let tokens see what comes after them')
    .option('--json', 'print JSON on one line')
    .addHelpText('after', `
Numbers, no marks: what each is, src/lab/audit.h says exactly. "—": there is nothing of that kind, as where
the encoding does not open the door.

Examples:
  lengthwise audit rope --head-dim 16
  lengthwise audit learned --options '{"overflow":"clamp"}' --json`)
    .action(async (name: string, { options, json, ...shape }: Options) => {
      const { specs: [spec], modules } = await withModules([name]);
      const lw = await load();
      for (const definition of modules.values()) lw.register(definition);
      const given = Object.fromEntries(Object.entries(shape).filter(([, value]) => value !== undefined));
      const audit = lw.audit(options === undefined ? spec! : { ...options, name: spec! } as EncodingTerm, given);
      if (json) return printJson(audit);
      const { length, ...parts } = audit;
      process.stdout.write(`${spec} at ${length} tokens\n\n`);
      const rows = Object.entries(parts).flatMap(([part, { measured, ...numbers }]) => Object.entries(numbers).map(([key, value], i) => [i ? '' : part, key, shown(value), i ? '' : measured]));
      printTable(['requirement', 'number', 'value', 'measured'], rows);
    });
}

function shown(value: number | string | number[] | null): string {
  if (value === null || value === '') return '—';
  if (Array.isArray(value)) return value.join(', ');
  return typeof value === 'string' ? value : String(Number(value.toPrecision(4)));
}
