/** The Content-Security-Policy of page.html. Written by `npm run studio`. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'sha256-WI1PZpBMdrAekju/sXIxBMI4NTsbbzVoYLYnEZXq3g4='; style-src 'sha256-920/w4tkbLRI335XdHhNgMK19hHQ4qXiXut2J0IJMOc='; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
