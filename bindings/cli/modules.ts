// Encodings of your own on the command line: the path of a module may stand where a name does.

import { pathToFileURL } from 'node:url';
import { importEncoding, type EncodingDefinition } from '../custom.js';

const PATH = /[^+|:>\s][^+|:>]*\.m?js(?=\s*(?:$|[+|:>@]))/g;

/** Specs with the name that a module's encoding has in place of its path, and those modules with their encodings. */
export async function withModules(specs: string[]): Promise<{ specs: string[]; modules: Map<URL, EncodingDefinition> }> {
  const names = new Map<string, string>();
  const modules = new Map<string, EncodingDefinition>(); // by address: one file may be written in several ways
  for (const path of new Set(specs.flatMap((spec) => spec.match(PATH) ?? []))) {
    const { href } = pathToFileURL(path);
    if (!modules.has(href)) modules.set(href, await importEncoding(new URL(href)));
    names.set(path, String(modules.get(href)!.name));
  }
  return { specs: specs.map((spec) => spec.replace(PATH, (path) => names.get(path)!)), modules: new Map([...modules].map(([href, definition]) => [new URL(href), definition])) };
}
