// Colours and type for every element; an embedding page may override any of the variables on any ancestor.
import { css } from 'lit';

export const doors = ['ids', 'input', 'rotation', 'bias', 'content', 'pattern', 'scale', 'value'] as const;
export type Door = (typeof doors)[number];

const defaults = `:where(:root) {
  --lw-paper: light-dark(#fbfaf7, #161513);
  --lw-raised: light-dark(#ffffff, #201f1c);
  --lw-ink: light-dark(#1d1c1a, #ece9e2);
  --lw-muted: light-dark(#66625b, #a29d93);
  --lw-line: light-dark(#e3dfd6, #34322e);
  --lw-shade: light-dark(#f1eee6, #1f1d1a);
  --lw-sans: system-ui, "Noto Sans", "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif;
  --lw-serif: "Iowan Old Style", Charter, "Palatino Linotype", Palatino, "Noto Serif", "Noto Serif CJK SC", "Songti SC", serif;
  --lw-none: light-dark(#77736b, #a5a097);
  --lw-ids: light-dark(#877700, #d3c04a);
  --lw-input: light-dark(#c77d00, #efab45);
  --lw-rotation: light-dark(#1267b5, #5aa9ee);
  --lw-bias: light-dark(#00805c, #3cc095);
  --lw-content: light-dark(#a23f88, #dd8cc5);
  --lw-pattern: light-dark(#b8321b, #f2785a);
  --lw-scale: light-dark(#2a8cb4, #7cd0ee);
  --lw-value: light-dark(#7a5a3a, #c9a37e);
}
@media print { html[data-theme] { color-scheme: light; background: none; } }
@media (forced-colors: active) { /* drawings are not recoloured by the browser */
  html[data-theme] { color-scheme: light dark; }
  :where(:root) { --lw-paper: Canvas; --lw-raised: Canvas; --lw-ink: CanvasText; --lw-muted: CanvasText; --lw-line: color-mix(in srgb, CanvasText 35%, Canvas); --lw-shade: light-dark(#eaeaea, #2a2a2a); --lw-none: CanvasText; }
}`;

if (globalThis.document) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(defaults);
  document.adoptedStyleSheets.push(sheet);
}

export const base = css`
  :host { display: block; color: var(--lw-ink); font: 14px/1.45 var(--lw-sans); font-variant-numeric: tabular-nums; }
  :host([hidden]) { display: none; }
  *, *::before, *::after { box-sizing: border-box; }
  button, input, textarea, select { font: inherit; color: inherit; }
  button { cursor: pointer; background: none; border: 0; padding: 0; }
  button:disabled { cursor: default; opacity: .45; }
  :focus-visible { outline: 2px solid var(--lw-rotation); outline-offset: 2px; border-radius: 3px; }
  h2, h3, p, figure, fieldset { margin: 0; padding: 0; border: 0; }
  h3, legend { font-size: 12px; font-weight: 600; color: var(--lw-muted); }
  .quiet { color: var(--lw-muted); }
  .link { text-decoration: underline; text-decoration-color: var(--lw-line); text-underline-offset: 3px; color: var(--lw-muted); min-height: 24px; }
  .link:hover { color: var(--lw-ink); text-decoration-color: currentColor; }
  .hue { forced-color-adjust: none; print-color-adjust: exact; } /* the colour says which one it is */
  @media (forced-colors: active) { button:disabled { opacity: 1; color: GrayText; } }
  .unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
`;
