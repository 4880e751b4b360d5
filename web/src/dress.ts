// One colour and dash for each encoding, the same everywhere. The hue says which door it opens first.
import type { Descriptor } from './engine.ts';
import { ownModule } from './own.ts';
import { fineTuned, onlyNumbers, untuned } from './settings.ts';

export interface Dress { stroke: string; dash: string }
const shades = [
  (hue: string) => hue,
  (hue: string) => `color-mix(in oklab, ${hue}, var(--lw-ink) 45%)`,
  (hue: string) => `color-mix(in oklab, ${hue}, var(--lw-paper) 35%)`,
];
const dashes = ['', '7 3', '2 3'];

export type Wardrobe = (spec: string) => Dress;

// Mixes such as "rope+log_n" follow the catalogue and are dressed after their first encoding.
export function wardrobe(catalogue: Descriptor[], mixes: string[] = []): Wardrobe {
  const first = new Map(catalogue.map((d) => [d.name, ownModule(d.name) ? 'ink' : d.doors[0] ?? 'none'])); // the visitor's own stand out
  const worn = new Map<string, number>(), dressed = new Map<string, Dress>();
  for (const spec of [...catalogue.map((d) => d.experiment), ...mixes]) {
    if (dressed.has(spec)) continue;
    const door = first.get(untuned(spec).split('>').at(-1)!.trim().split(/[:+|]/)[0]!) ?? 'none';
    const n = worn.get(door) ?? 0;
    worn.set(door, n + 1);
    // Shade and dash change together: neighbours of one hue differ in both.
    dressed.set(spec, { stroke: shades[n % 3]!(`var(--lw-${door})`), dash: dashes[(n + Math.floor(n / 3)) % 3]! });
  }
  return (spec) => dressed.get(spec) ?? { stroke: 'var(--lw-none)', dash: '' };
}

export const titleOf = (descriptor: Descriptor, language: string): string => (language === 'zh' ? descriptor.title_zh : descriptor.title);

// For chips and labels: of "Rotary (RoPE)" the short name in brackets; of a mix its titles, or its spec where it has options
// that are not the catalogue's own; an arrow from what is trained to what is tested, and steps of fine-tuning behind it.
export function shortTitle(spec: string, catalogue: Descriptor[], language: string): string {
  const short = (title: string) => /[(（](.+)[)）]/.exec(title)?.[1] ?? title;
  const examples = new Map(catalogue.map((d) => [[d.name, d.example].filter(Boolean).join(':'), short(titleOf(d, language))]));
  const numbers = (term: string) => onlyNumbers(catalogue.find((d) => d.name === term.split(':')[0]));
  const steps = fineTuned(spec), sides = untuned(spec).split('>').map((side) => side.split('+').map((term) => term.trim()));
  const [trained, tested] = sides;
  // Of "rope>grouped+rope" only what is new: numbers have to be read by something.
  if (tested && tested.slice(0, -1).some(numbers) && tested.slice(0, -1).every(numbers) && trained!.join('+') === tested.at(-1)) tested.pop();
  return sides.map((terms) => (terms.every((term) => examples.has(term)) ? terms.map((term) => examples.get(term)).join(' + ') : terms.join('+'))).join(' → ') + (steps ? ` @${steps}` : '');
}
