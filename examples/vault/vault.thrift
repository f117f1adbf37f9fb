namespace go vault

service Vault {
  string secret(1: string name)
}
