import { signal } from '@preact/signals'

const STORED = 'edgecall-theme'

/** Whether the colours are dark. */
export const isDark = signal(false)

/** Takes the colours that were chosen in this browser, or else those of the system. */
export function followTheme(): void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  const choice = localStorage.getItem(STORED)
  if (choice === 'light' || choice === 'dark') document.documentElement.dataset['theme'] = choice
  const read = () =>
    (isDark.value = (document.documentElement.dataset['theme'] ?? (system.matches ? 'dark' : '')) === 'dark')
  system.addEventListener('change', read)
  read()
}

/** Changes from light to dark or back, and remembers it in this browser. */
export function switchTheme(): void {
  const theme = isDark.peek() ? 'light' : 'dark'
  document.documentElement.dataset['theme'] = theme
  localStorage.setItem(STORED, theme)
  isDark.value = theme === 'dark'
}
