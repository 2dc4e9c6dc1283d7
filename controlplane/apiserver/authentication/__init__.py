"""Authentication: who asks. Certificates, service-account tokens, impersonation; anonymous for health alone."""
