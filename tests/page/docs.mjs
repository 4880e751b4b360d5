// What tests of the pages of the encodings share.

/** A page of them; `window.docs()` is what is in its element. */
export async function openDocs(t, browser, address, hash = '') {
  const page = await browser.open();
  t.after(() => page.close());
  await page.goto(`${address}encodings.html${hash}`);
  await page.waitFor(() => Boolean(document.querySelector('lengthwise-docs')?.shadowRoot)); // loading and running its script are two things
  await page.evaluate(() => { window.docs = () => document.querySelector('lengthwise-docs').shadowRoot; });
  return page;
}
