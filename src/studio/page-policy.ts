/** The Content-Security-Policy of page.html. Written by `npm run studio`. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'sha256-TejSvNnDaAay+3jrFnlYpGK/2fYvCnKAOkkJpM+VbeQ='; style-src 'sha256-xsfUNjvnFFmt/FrZFU1o4bmiDXeviu5q9e0QY4t0cQI='; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
