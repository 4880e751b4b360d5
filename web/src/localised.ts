import { LitElement } from 'lit';
import { property } from 'lit/decorators.js';
import { en, type Strings } from './locales/en.ts';
import { zh } from './locales/zh.ts';

export const languages = { en: 'English', zh: '中文' } as const;
export type Language = keyof typeof languages;

export const languageOf = (tag: string): Language => (tag.toLowerCase().startsWith('zh') ? 'zh' : 'en');

// An element that speaks the language of its `lang`, or else of the document.
export class Localised extends LitElement {
  @property({ reflect: true }) override lang = '';
  protected get language(): Language { return languageOf(this.lang || document.documentElement.lang); }
  get t(): Strings { return { en, zh }[this.language]; }
}
