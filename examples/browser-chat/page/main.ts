import { DefaultChatTransport, type UIMessage } from 'ai'
import { Chat, linesOf } from './chat.ts'

const id = sessionStorage.getItem('chat') ?? crypto.randomUUID()
sessionStorage.setItem('chat', id)

const list = document.querySelector('ol')
const form = document.querySelector('form')
const chat = new Chat(id, new DefaultChatTransport({ api: '/chat' }), render)

form?.addEventListener('submit', (event) => {
  event.preventDefault()
  const text = new FormData(form).get('text')
  form.reset()
  if (typeof text === 'string') void chat.sendMessage({ text })
})

// An answer that was under way when the page was reloaded continues.
void chat.resumeStream()

function render(messages: readonly UIMessage[]): void {
  list?.replaceChildren(...messages.map(item))
}

function item(message: UIMessage): HTMLLIElement {
  const element = document.createElement('li')
  element.className = message.role
  for (const { text, approval } of linesOf(message)) {
    const line = document.createElement('p')
    line.textContent = text
    element.append(line, ...(approval === undefined ? [] : [button('Approve', approval), button('Reject', approval)]))
  }
  return element
}

function button(label: 'Approve' | 'Reject', call: string): HTMLButtonElement {
  const element = document.createElement('button')
  element.textContent = label
  element.addEventListener('click', () => {
    void chat.addToolApprovalResponse({ id: call, approved: label === 'Approve' })
  })
  return element
}
