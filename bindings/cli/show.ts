import { Command, InvalidArgumentError } from 'commander';
import type { Encoding } from '../encoding.js';
import { load } from '../load.js';
import type { EncodingTerm } from '../spec.js';
import { integerArgument, jsonArgument, numbersArgument, objectArgument } from './arguments.js';
import { withModules } from './modules.js';
import { printJson } from './output.js';

interface Options {
  options?: Record<string, unknown>;
  heads: number;
  kvHeads?: number;
  headDim?: number;
  width?: number;
  trainedLength?: number;
  causal: boolean;
  seed: number;
  queries?: number;
  keys?: number;
  offset?: number;
  positions?: number[];
  tokens?: number[];
  apply?: unknown;
  inverse?: boolean;
  parameters?: Record<string, unknown>;
  json?: boolean;
}

export function showCommand(): Command {
  return new Command('show')
    .description('Shows what an encoding gives at each of its doors, with all digits.')
    .argument('<name>', "an encoding, or several joined: 'rope', 'alibi', 'rope:base=500000+log_n'; ./mine.mjs: a module that exports one")
    .option('--options <json>', 'options of the encoding, as an object', encodingOptions)
    .option('--heads <H>', 'query heads', integerArgument(1), 1)
    .option('--kv-heads <H>', 'key/value heads (default: as many as heads)', integerArgument(1))
    .option('--head-dim <D>', 'width of a head (default: width / heads, else 64)', integerArgument(1))
    .option('--width <d>', 'width of the model (default: heads · head-dim)', integerArgument(1))
    .option('--trained-length <L>', 'length trained on (default: 512)', integerArgument(1))
    .option('--no-causal', 'let tokens see what comes after them')
    .option('--seed <s>', 'of learned parameters', integerArgument(0), 0)
    .option('--queries <n>', 'rows of bias and pattern (default: 8, or as many as positions)', integerArgument(1))
    .option('--keys <m>', 'columns of bias and pattern (default: as many as positions, or up to the last query)', integerArgument(1))
    .option('--offset <o>', 'which token the first query is (default: keys − queries); rows before token 0 see nothing', integerArgument(-Infinity))
    .option('--positions <json>', 'the numbers that tokens 0, 1, … carry (default: 0, 1, …)', numbersArgument)
    .option('--tokens <json>', 'ids of tokens 0, 1, …, for encodings that look at which tokens there are', numbersArgument)
    .option('--apply <json>', 'rotate this: one vector [D], at every position, or a vector for each position [n][D]', jsonArgument)
    .option('--inverse', 'with --apply: rotate back')
    .option('--parameters <json>', 'learned parameters to use, {"name": numbers, flat or in rows}', objectArgument)
    .option('--json', 'print JSON on one line')
    .addHelpText('after', `
Prints, for tokens 0, 1, … n:
  positions  the numbers they carry after the ids door           [tokens]
  input      what is added to their embeddings                   [tokens][width]
  rotation   cos and sin of each pair, and with --apply the      [tokens][pairs]
             rotated vectors as "applied"                        [tokens][D]
  bias       what is added to scores                             [H][queries][keys]
  pattern    who sees whom, 1 or 0                               [queries][keys]
  scale      the factor on each row's scores                     [H][tokens]
A door that is closed gives null, but for the pattern, which is then the mask alone. In JSON, which has no infinities, they
are the texts "Infinity" and "-Infinity".

Examples:
  lengthwise show rope --options '{"pairing":"half"}' --head-dim 8 --positions '[3]' --apply '[1,2,3,4,5,6,7,8]' --json
  lengthwise show alibi --heads 8 --queries 4 --keys 6
  lengthwise show sinusoidal --width 16 --positions '[0, 0.5, 1000000]' --json`)
    .action(async (name: string, options: Options) => {
      const { heads, kvHeads, headDim, width, trainedLength, causal, seed } = options;
      const { specs: [own], modules } = await withModules([name]);
      const spec = options.options === undefined ? own! : { ...options.options, name: own! } as EncodingTerm;
      const given = Object.entries({ heads, kvHeads, headDim, width, trainedLength, causal, seed }).filter(([, v]) => v !== undefined);
      const lw = await load({ inferenceOnly: true });
      for (const definition of modules.values()) lw.register(definition);
      const encoding = lw.encoding(spec, Object.fromEntries(given));
      for (const [key, values] of Object.entries(options.parameters ?? {})) encoding.setParameter(key, flatten(key, values));
      if (options.tokens) encoding.setTokens(options.tokens);
      const shown = describe(encoding, options);
      if (options.json) printJson(shown);
      else for (const [key, value] of Object.entries(shown)) process.stdout.write(`${key}\n${readable(value)}\n`);
    });
}

function encodingOptions(text: string): Record<string, unknown> {
  const options = objectArgument(text);
  if (Object.hasOwn(options, 'name')) throw new InvalidArgumentError('It has a "name": the encoding is named by the argument before it.');
  return options;
}

function describe(encoding: Encoding, options: Options): Record<string, unknown> {
  const length = options.positions?.length ?? options.tokens?.length;
  const queries = options.queries ?? options.keys ?? length ?? 8;
  const keys = options.keys ?? length ?? (options.offset ?? 0) + queries;
  const offset = options.offset ?? keys - queries;
  const tokens = options.positions ?? Math.max(keys, offset + queries);
  const rectangle = { queries, keys, offset, positions: options.positions };
  const { heads, headDim, width } = encoding.shape;
  const open = new Set(encoding.doors);
  const { cos, sin, pairs, pairing } = encoding.rotation(tokens);
  const rotation = { pairs, pairing, cos: rows(cos, pairs), sin: rows(sin, pairs), ...applied(encoding, tokens, headDim, options) };
  return {
    spec: encoding.spec,
    doors: encoding.doors,
    score_scale: encoding.scoreScale,
    embedding_scale: encoding.embeddingScale,
    positions: encoding.positions(tokens),
    input: open.has('input') ? rows(encoding.table(tokens), width) : null,
    rotation: open.has('rotation') || 'applied' in rotation ? rotation : null,
    bias: open.has('bias') ? rows(encoding.bias(rectangle), queries * keys).map((table) => rows(table, keys)) : null,
    pattern: rows(encoding.pattern(rectangle), keys),
    scale: open.has('scale') ? rows(encoding.scale(tokens), encoding.scale(tokens).length / heads) : null,
    parameters: Object.fromEntries(Object.entries(encoding.parameters).map(([name, p]) => [name, rows(p.data, p.columns)])),
  };
}

function applied(encoding: Encoding, tokens: number | number[], headDim: number, options: Options): { applied?: unknown } {
  if (options.apply === undefined) return {};
  const positions = typeof tokens === 'number' ? Array.from({ length: tokens }, (_, i) => i) : tokens;
  const vectors = flatten('apply', options.apply);
  const all = vectors.length === headDim ? positions.flatMap(() => vectors) : vectors;
  return { applied: rows(encoding.rotate(all, positions, { heads: 1, inverse: options.inverse ?? false }), headDim) };
}

function flatten(name: string, value: unknown): number[] {
  if (!Array.isArray(value)) throw new TypeError(`${name} must be an array of numbers, flat or in rows`);
  const infinities: Record<string, number> = { Infinity, '-Infinity': -Infinity }; // as --json writes them
  return value.flat(Infinity).map((number) => infinities[number as string] ?? number) as number[];
}

function rows<T extends Float32Array | Uint8Array>(data: T, columns: number): T[] {
  return columns === 0 ? [] : Array.from({ length: data.length / columns }, (_, i) => data.subarray(i * columns, (i + 1) * columns) as T);
}

/** One row of numbers per line. */
function readable(value: unknown, indent = '  '): string {
  if (ArrayBuffer.isView(value)) return indent + Array.from(value as Float32Array).join(' ');
  if (Array.isArray(value)) return value.some((v) => typeof v === 'object') ? value.map((v) => readable(v, indent)).join('\n') : indent + value.join(' ');
  if (typeof value === 'object' && value !== null) return Object.entries(value).map(([key, v]) => `${indent}${key}\n${readable(v, `${indent}  `)}`).join('\n');
  return indent + (value === null ? 'closed' : String(value));
}
