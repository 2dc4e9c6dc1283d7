"""Authorization: may this user do this? Node authorizer and RBAC, as decisions without side effects."""
