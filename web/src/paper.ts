import { html } from 'lit';

/** The comment of an encoding: `code` as such, papers linked. */
export const typeset = (text: string) => text.split('`').map((part, i) => (i % 2 ? html`<code>${part}</code>` : linked(part)));

// arXiv numbers and kexue.fm articles become links, the only ones that lead away from the site.
export function linked(text: string) {
  return text.split(/(arXiv:\d{4}\.\d{4,5}|kexue\.fm\/archives\/\d+)/).map((part, i) => {
    if (i % 2 === 0) return part;
    const address = part.startsWith('arXiv:') ? `arxiv.org/abs/${part.slice(6)}` : part;
    return html`<a href="https://${address}" rel="noreferrer">${part}</a>`;
  });
}
