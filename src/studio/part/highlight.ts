/** A piece of code and how it is coloured: a keyword, a string, a number, a comment, or nothing of these. */
export interface CodeToken {
  readonly kind: '' | 'k' | 's' | 'n' | 'c'
  readonly text: string
}

/** Longer code is shown without colours. */
const MOST_CHARACTERS = 100_000

const WORDS =
  'abstract|and|as|async|await|begin|boolean|break|by|case|catch|class|const|continue|create|def|default|del|delete|desc|do|done|echo|elif|else|end|enum|esac|except|export|extends|false|fi|final|finally|fn|for|from|func|function|group|having|if|impl|implements|import|in|insert|instanceof|int|interface|into|is|join|lambda|left|let|like|limit|match|mut|new|nil|none|not|null|of|on|or|order|package|pass|private|public|pub|raise|readonly|return|self|select|set|static|string|struct|super|switch|then|this|throw|trait|true|try|type|typeof|undefined|union|update|use|using|values|var|void|when|where|while|with|yield'

const STRING = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/.source
const NUMBER = /\b\d[\d_]*(?:\.\d+)?\b/.source

/** The comments of a language; `#` and `--` begin one only where the language says so. */
function commentOf(language: string): string {
  if (/^(?:py|python|sh|bash|shell|zsh|ya?ml|toml|rb|ruby|r|dockerfile)$/.test(language))
    return /(?<![\w$])#[^\n]*/.source
  if (/^(?:sql|lua|haskell)$/.test(language)) return /--[^\n]*/.source
  return /\/\/[^\n]*|\/\*[^]*?\*\//.source
}

/** Splits code into tokens by rules that fit most languages well enough to read by. */
export function highlight(code: string, language: string): readonly CodeToken[] {
  const isPlain = /^(?:|text|txt|plain|plaintext|console|output|log)$/.test(language)
  if (isPlain || code.length > MOST_CHARACTERS) return [{ kind: '', text: code }]
  const flags = language === 'sql' ? 'gi' : 'g'
  const pattern = new RegExp(`(${commentOf(language)})|(${STRING})|(${NUMBER})|\\b(${WORDS})\\b`, flags)
  const tokens: CodeToken[] = []
  let at = 0
  for (const match of code.matchAll(pattern)) {
    const [text, comment, string, number] = match
    if (match.index > at) tokens.push({ kind: '', text: code.slice(at, match.index) })
    const kind = comment !== undefined ? 'c' : string !== undefined ? 's' : number !== undefined ? 'n' : 'k'
    tokens.push({ kind, text })
    at = match.index + text.length
  }
  if (at < code.length) tokens.push({ kind: '', text: code.slice(at) })
  return tokens
}
