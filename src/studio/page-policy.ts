/** The Content-Security-Policy of page.html. Written by `npm run studio`. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'sha256-XYPNDD1I4lZuEYBJs/8EZ9eFV54Ch+6WwRHJRKqtqYI='; style-src 'sha256-920/w4tkbLRI335XdHhNgMK19hHQ4qXiXut2J0IJMOc='; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
