import type { CatalogueTexts } from './engine.js';

/** The catalogue's texts, in English and 中文: `lengthwise.encodings(texts)` gives descriptors with them. */
export const texts: CatalogueTexts;
