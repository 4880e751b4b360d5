// Encodings that the visitor wrote, each the text of a module. They stay in this browser and are never part of a link:
// a link must not bring code along.
import { importEncoding, type Lengthwise } from 'lengthwise';

const prefix = 'lengthwise-own:'; // in localStorage each has a place of its own: what does not fit any more, or another tab wrote, stays
const modules = new Map<string, string>(); // by name

export const example = `export default {
  name: 'steps',
  bias: (head, distance, { heads }) =>
    -(head + 1) / heads * Math.floor(Math.abs(distance) / 4),
};`;

/** The module of an encoding, if the visitor wrote it. */
export const ownModule = (name: string): string | undefined => modules.get(name);
export const ownNames = (): string[] => [...modules.keys()];

/** Those that specs name, for the workers of an experiment. */
export const modulesOf = (specs: string[]): string[] => {
  const named = new Set(specs.flatMap((spec) => spec.split(/[^a-z0-9_]+/)));
  return ownNames().filter((name) => named.has(name)).map((name) => modules.get(name)!);
};

/** Adds an encoding, or puts it in the place of the one of its name. @returns its name. @throws what is wrong with it */
export async function addOwn(lengthwise: Lengthwise, code: string): Promise<string> {
  const definition = await importEncoding(code);
  const name = lengthwise.register(definition, { replace: modules.has(definition.name) });
  modules.set(name, code);
  try { localStorage.setItem(prefix + name, code); } catch { /* forbidden or full: then it stays until the page is left */ }
  return name;
}

export function removeOwn(lengthwise: Lengthwise, name: string): void {
  lengthwise.unregister(name);
  modules.delete(name);
  try { localStorage.removeItem(prefix + name); } catch { /* as above */ }
}

/** Registers what was written in earlier visits. */
export async function restoreOwn(lengthwise: Lengthwise): Promise<void> {
  let kept: string[];
  try { kept = Object.entries(localStorage).filter(([key]) => key.startsWith(prefix)).map(([, code]) => String(code)); } catch { return; }
  for (const code of kept) await addOwn(lengthwise, code).catch(() => {});
}
