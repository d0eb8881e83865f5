/** The Content-Security-Policy of page.html. Written by `npm run studio`. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'sha256-ED5Jl7mHUMGJhIX73Gpv68RT/NoZE8NlrCrMcPv90+k='; style-src 'sha256-CrZ0YeyOhacQU0fEIiC89ecviajjzk0ENesawr/Qesk='; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
