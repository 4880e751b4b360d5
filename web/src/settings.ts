// What an experiment is made of, and its place in a link.
import type { Descriptor } from './engine.ts';

export const tasks = ['text', 'copy', 'recall'] as const;
export type Task = (typeof tasks)[number];

export const sizes = {
  tiny: { width: 64, layers: 2, heads: 4 },
  small: { width: 64, layers: 4, heads: 4 },
  medium: { width: 128, layers: 4, heads: 4 },
} as const;
export type Size = keyof typeof sizes;

export interface Settings {
  encodings: string[]; // specs
  task: Task;
  length: number;      // trained on
  reach: number;       // tested up to length · reach
  size: Size;
  steps: number;
  seeds: number;
}

export const defaults: Settings = {
  encodings: ['nope', 'sinusoidal', 'rope', 'alibi', 't5', 'window'],
  task: 'text', length: 64, reach: 16, size: 'tiny', steps: 600, seeds: 1,
};

export const batch = 16; // sequences per training step

export const limits = { length: [8, 1024], reach: [1, 64], steps: [1, 100_000], seeds: [1, 20] } as const;

export const testLengths = ({ length, reach }: Settings): number[] => {
  const lengths = [length / 2];
  for (let n = length; n < length * reach; n *= 2) lengths.push(n);
  return [...lengths, length * reach].map(Math.round);
};

// How long the visitor's text must be: at all, and for these settings, which the last tenth of it is to test. The rest is
// nine times that and then long enough for every length that is trained on.
export const shortestText = 20_000;
export const leastBytes = ({ length, reach }: Settings): number => Math.max(shortestText, 10 * length * reach + 1);

export function toHash(s: Settings): string {
  const encodings = s.encodings.map((e) => encodeURIComponent(e).replaceAll('%3A', ':').replaceAll('%3D', '='));
  return `#encodings=${encodings.join(',')}&task=${s.task}&length=${s.length}&reach=${s.reach}` +
    `&size=${s.size}&steps=${s.steps}&seeds=${s.seeds}`;
}

// Of "rope>yarn@100" what stands before the @, and how many steps of fine-tuning stand behind it.
export const untuned = (spec: string): string => spec.split('@')[0]!.trim();
export const fineTuned = (spec: string): number => Number(spec.split('@')[1] ?? 0) || 0;
export const fineTuneLength = ({ length }: Settings): number => 4 * length;

// Its numbers do nothing until something reads them.
export const onlyNumbers = (d: Descriptor | undefined): boolean => d !== undefined && d.doors.includes('ids') && d.doors.every((door) => door === 'ids' || door === 'input');

// A name alone is tried as the catalogue says. What only gives numbers is run with what a model
// was trained with, or else with the rotation, which reads them. What is to be fine-tuned is put on what was trained: itself,
// where nothing else is.
export function runnable(given: string, catalogue: Descriptor[]): string {
  const [put, ...steps] = given.split('@');
  if (steps.length) {
    const spec = runnable(put!, catalogue);
    return [spec.includes('>') ? spec : `${spec}>${spec}`, ...steps.map((n) => n.trim())].join('@');
  }
  const of = (term: string) => catalogue.find((d) => d.name === term.split(':')[0]);
  const sides = given.replace(/[→＞]/g, '>').split('>').map((side) => side.split('+').map((term) => term.trim()).join('+').replace(/\s*\|\s*/g, '|').trim());
  const known = catalogue.find((d) => d.name === sides.join('>'));
  if (known) return known.experiment;
  return sides.map((side, i) => {
    const terms = side.split('+'), numbered = terms.every((term) => onlyNumbers(of(term)));
    if (!numbered) return side;
    const meant = i ? terms.map((term) => [term, term.includes(':') ? '' : of(term)!.example].filter(Boolean).join(':')) : terms;
    const reads = i && !sides[0]!.includes('|') && !of(sides[0]!)?.doors.includes('ids') ? sides[0]! : 'rope';
    return [...meant, reads].join('+');
  }).join('>');
}

// Anything missing or out of range falls back to the default; `all` stands for the whole catalogue. What the catalogue does
// not have is kept: the page says so.
export function fromHash(hash: string, catalogue: Descriptor[]): Settings {
  const given = new Map(hash.replace(/^#/, '').split('&').map((pair) => {
    const at = pair.indexOf('=');
    return [pair.slice(0, at), pair.slice(at + 1)] as const;
  }));
  const number = (key: keyof typeof limits) => {
    const value = Number(given.get(key));
    const [least, most] = limits[key];
    return Number.isInteger(value) && value >= least && value <= most ? value : defaults[key];
  };
  const list = given.get('encodings');
  const specs = list === 'all' ? catalogue.map((d) => d.name) : list?.split(',').map(decode).filter(Boolean);
  const task = tasks.find((t) => t === given.get('task')) ?? defaults.task;
  const size = (Object.keys(sizes) as Size[]).find((s) => s === given.get('size')) ?? defaults.size;
  const encodings = specs?.length ? [...new Set(specs.map((spec) => runnable(spec, catalogue)))] : defaults.encodings;
  return { encodings, task, size, length: number('length'), reach: number('reach'), steps: number('steps'), seeds: number('seeds') };
}

function decode(text: string): string {
  try { return decodeURIComponent(text); } catch { return text; }
}

// A link may forbid the start that otherwise happens by itself.
export const mayStart = (hash: string) => !/[#&]start=0(&|$)/.test(hash);
