/** The Content-Security-Policy of page.html. Written by `npm run studio`. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'sha256-VmRTM2YuOkzn5vBvwSF2whXBbZ2cAu3KfOCb5ucQREQ='; style-src 'sha256-xsfUNjvnFFmt/FrZFU1o4bmiDXeviu5q9e0QY4t0cQI='; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
