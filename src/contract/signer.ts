/** Signs texts with a secret of the deployment, and recognises what it has signed. */
export interface Signer {
  sign(text: string): Promise<string>
  isSigned(text: string, signature: string): Promise<boolean>
}
