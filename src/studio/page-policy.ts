/** The Content-Security-Policy of page.html. Written by `npm run studio`. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'sha256-2/P8GZ9RaJA3OKzJbry3JjGAhug4KyvQlBOPDH/iH1w='; style-src 'sha256-920/w4tkbLRI335XdHhNgMK19hHQ4qXiXut2J0IJMOc='; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
