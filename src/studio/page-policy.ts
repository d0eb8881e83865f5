/** The Content-Security-Policy of page.html. Written by `npm run studio`. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'sha256-oAobECKL4YQBKdJ35IRxdJpXuNTcfClJpeb3NV36fc0='; style-src 'sha256-CrZ0YeyOhacQU0fEIiC89ecviajjzk0ENesawr/Qesk='; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
